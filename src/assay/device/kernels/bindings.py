"""Kernels of this repository, bound to inputs."""

from collections.abc import Callable
from typing import Any

import torch

from assay.device.kernels.attention import bind_attention
from assay.device.kernels.baselines import prepare_library
from assay.device.kernels.inputs import Inputs, Tensor
from assay.device.kernels.prepared import Prepared
from assay.shared import attention_call
from assay.shared.launch_abi import (
    OPERANDS,
    PROJECT,
    WORKSPACE_BYTES,
    check_status,
    checked_library,
    load_launcher,
)
from assay.shared.specs import ArmSpec, ArtifactSpec, VariantSpec


def current_stream() -> int:
    """Return the handle of PyTorch's current stream."""
    return int(torch.cuda.current_stream().cuda_stream)


def bind(
    launcher: Callable[..., int],
    variant: VariantSpec,
    inputs: Inputs,
    stream: Callable[[], int] = current_stream,
) -> Prepared:
    """Bind a launcher to inputs, an output buffer and a workspace. Every launch is checked."""
    w = inputs.workload
    if variant.output_dtype != w.output_dtype:
        # It would write past the end of its output, or leave half of it.
        raise RuntimeError(
            f"variant '{variant.id}' writes {variant.output_dtype or w.dtype}, and workload "
            f"'{w.id}' wants {w.output_dtype or w.dtype}"
        )
    output = inputs.new_output()
    workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device=inputs.device)
    pointers = [inputs.tensors[name].data_ptr() for name in OPERANDS[_abi(variant)]]
    arguments = (*pointers, output.data_ptr(), w.m, w.n, w.k, workspace.data_ptr(), WORKSPACE_BYTES)

    # The launcher sees addresses only: who holds the launch holds the tensors behind them.
    def launch(workspace: Tensor = workspace, inputs: Inputs = inputs) -> Tensor:
        check_status(launcher(*arguments, stream()), variant.id)
        return output

    return Prepared(launch, output)


def bind_project(
    launcher: Callable[..., int],
    variant: VariantSpec,
    inputs: Inputs,
    stream: Callable[[], int] = current_stream,
) -> Prepared:
    """Bind the launcher of a project's kernel, likewise. Raises RuntimeError for inputs that have
    no such tensor, or one with holes.
    """
    for name in variant.operands:
        if name not in inputs.tensors:
            raise RuntimeError(f"inputs return no '{name}'; they have {', '.join(inputs.tensors)}")
        if not inputs.tensors[name].is_contiguous():
            raise RuntimeError(f"inputs: '{name}' is not contiguous, and a kernel sees addresses")
    output = inputs.project_case.new_output(inputs.tensors, inputs.dtype)
    workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device=inputs.device)
    pointers = [inputs.tensors[name].data_ptr() for name in variant.operands]
    sizes = [int(inputs.workload.parameters[name]) for name in variant.sizes]
    arguments = (*pointers, output.data_ptr(), *sizes, workspace.data_ptr(), WORKSPACE_BYTES)

    def launch(workspace: Tensor = workspace, inputs: Inputs = inputs) -> Tensor:
        check_status(launcher(*arguments, stream()), variant.id)
        return output

    return Prepared(launch, output)


def _abi(variant: VariantSpec) -> str:
    if variant.abi not in OPERANDS:
        raise RuntimeError(f"variant '{variant.id}' names no known ABI: {variant.abi}")
    return variant.abi


def prepare_kernel(variant: VariantSpec, artifact: ArtifactSpec | None, inputs: Inputs) -> Prepared:
    """Load, check and bind a compiled variant. Raises RuntimeError when there is none."""
    if artifact is None or variant.symbol is None:
        raise RuntimeError(f"variant '{variant.id}' has no compiled library in this job")
    if variant.abi == attention_call.ABI:
        launcher = attention_call.open_attention(checked_library(artifact), variant.symbol)
        return bind_attention(launcher, variant, inputs, current_stream)
    if variant.abi == PROJECT:
        taken = len(variant.operands), len(variant.sizes)
        return bind_project(load_launcher(artifact, variant.symbol, *taken), variant, inputs)
    operands: tuple[Any, ...] = OPERANDS[_abi(variant)]
    return bind(load_launcher(artifact, variant.symbol, len(operands)), variant, inputs)


def prepare_arm(arm: ArmSpec, inputs: Inputs) -> Prepared:
    """Bind an arm's variant to inputs. Raises Unsupported, or RuntimeError when it can't run."""
    if arm.variant.kind == "kernel":
        return prepare_kernel(arm.variant, arm.artifact, inputs)
    if arm.variant.kind == "callable":
        case = inputs.project_case
        launch, out = case.launcher(arm.variant.entry or "", inputs.tensors)
        return Prepared(launch, out, arranged=case.joined)
    return prepare_library(arm.variant.entry, inputs)
