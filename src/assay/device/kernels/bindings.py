"""Kernels of this repository, bound to inputs."""

from collections.abc import Callable

import torch

from assay.device.kernels.attention import bind_attention, bind_gradients
from assay.device.kernels.baselines import prepare_library
from assay.device.kernels.inputs import Inputs, Tensor
from assay.device.kernels.prepared import Prepared
from assay.shared import attention_call
from assay.shared.launch_abi import (
    PROJECT,
    WORKSPACE_BYTES,
    check_status,
    checked_library,
    load_launcher,
    operands_of,
    sizes_of,
)
from assay.shared.specs import ArmSpec, ArtifactSpec, VariantSpec


def current_stream() -> int:
    """Return the handle of PyTorch's current stream."""
    return int(torch.cuda.current_stream().cuda_stream)


def arguments_of(
    variant: VariantSpec, inputs: Inputs
) -> tuple[tuple[str, ...], Tensor, tuple[int, ...]]:
    """Return the operands that a launcher takes, by name, an output for it, and sizes.

    Raises RuntimeError for inputs of a project that have no such tensor, or one with holes, and for
    an output of another type than is wanted.
    """
    w = inputs.workload
    operands, sizes = operands_of(variant), sizes_of(variant, w)
    if variant.abi == PROJECT:
        for name in operands:
            if name not in inputs.tensors:
                names = ", ".join(inputs.tensors)
                raise RuntimeError(f"inputs return no '{name}'; they have {names}")
            if not inputs.tensors[name].is_contiguous():
                raise RuntimeError(
                    f"inputs: '{name}' is not contiguous, and a kernel sees addresses"
                )
        return operands, inputs.project_case.new_output(inputs.tensors, inputs.dtype), sizes
    if variant.output_dtype != w.output_dtype:
        # It would write past the end of its output, or leave half of it.
        raise RuntimeError(
            f"variant '{variant.id}' writes {variant.output_dtype or w.dtype}, and workload "
            f"'{w.id}' wants {w.output_dtype or w.dtype}"
        )
    return operands, inputs.new_output(), sizes


def bind(
    launcher: Callable[..., int],
    variant: VariantSpec,
    inputs: Inputs,
    stream: Callable[[], int] = current_stream,
) -> Prepared:
    """Bind a launcher to inputs, an output and a workspace. Raises as ``arguments_of``."""
    operands, output, sizes = arguments_of(variant, inputs)
    workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device=inputs.device)
    pointers = [inputs.tensors[name].data_ptr() for name in operands]
    arguments = (*pointers, output.data_ptr(), *sizes, workspace.data_ptr(), WORKSPACE_BYTES)

    # The launcher sees addresses only: who holds the launch holds the tensors behind them.
    def launch(workspace: Tensor = workspace, inputs: Inputs = inputs) -> Tensor:
        check_status(launcher(*arguments, stream()), variant.id)
        return output

    return Prepared(launch, output)


def prepare_kernel(variant: VariantSpec, artifact: ArtifactSpec | None, inputs: Inputs) -> Prepared:
    """Load, check and bind a compiled variant. Raises RuntimeError when there is none."""
    if artifact is None or variant.symbol is None:
        raise RuntimeError(f"variant '{variant.id}' has no compiled library in this job")
    structure = attention_call.STRUCTURES.get(variant.abi or "")
    if structure is not None:
        launcher = attention_call.open_attention(
            checked_library(artifact), variant.symbol, structure
        )
        backward = variant.abi == attention_call.BACKWARD_ABI
        bind_launcher = bind_gradients if backward else bind_attention
        return bind_launcher(launcher, variant, inputs, current_stream)
    taken = len(operands_of(variant)), len(sizes_of(variant, inputs.workload))
    return bind(load_launcher(artifact, variant.symbol, *taken), variant, inputs)


def prepare_arm(arm: ArmSpec, inputs: Inputs) -> Prepared:
    """Bind an arm's variant to inputs. Raises Unsupported, or RuntimeError when it can't run."""
    if arm.variant.kind == "kernel":
        return prepare_kernel(arm.variant, arm.artifact, inputs)
    if arm.variant.kind == "callable":
        case = inputs.project_case
        launch, out = case.launcher(arm.variant.entry or "", inputs.tensors)
        return Prepared(launch, out, arranged=case.joined, stranger=True)
    return prepare_library(arm.variant.entry, inputs)
