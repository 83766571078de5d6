"""Our attention kernels, bound to inputs: the structures that they read, and what they write."""

import math
from collections.abc import Callable, Sequence

import torch

from assay.device.kernels.inputs import Inputs, Tensor
from assay.device.kernels.prepared import Prepared
from assay.shared.attention_call import (
    COLUMNS,
    GRADIENTS,
    LISTS,
    NO_BOUND,
    SCALES,
    TENSORS,
    AttentionLauncher,
    AttentionSizes,
    Strides,
    attention_backward_call,
    attention_call,
    forward_call,
    strides_of,
)
from assay.shared.launch_abi import check_status
from assay.shared.specs import VariantSpec


def sizes_of(inputs: Inputs, output: Tensor) -> AttentionSizes:
    """Return all that a kernel is told of a problem but addresses."""
    w, t = inputs.workload, inputs.tensors
    tensors = {"q": t["q"], "k": t["k"], "v": t.get(COLUMNS, t["v"]), "o": output}
    full_pitch, partial_pitch = (
        t[name].shape[-1] if name in t else 0 for name in ("full_columns", "partial_columns")
    )
    left, right = (
        NO_BOUND if bound is None else bound for bound in (w.window_left, w.window_right)
    )
    return AttentionSizes(
        batches=w.batch,
        heads=w.heads,
        kv_heads=w.key_heads,
        queries=w.seq_q,
        keys=w.seq_kv,
        scale=1.0 / math.sqrt(w.head_dim),
        strides={name: strides_of(tensors[name].shape, tensors[name].stride()) for name in TENSORS},
        full_pitch=full_pitch,
        partial_pitch=partial_pitch,
        window_left=left,
        window_right=right,
    )


def bind_attention(
    launcher: AttentionLauncher, variant: VariantSpec, inputs: Inputs, stream: Callable[[], int]
) -> Prepared:
    """Bind a launcher to inputs, outputs and a workspace. Every launch is checked."""
    w, t = inputs.workload, inputs.tensors
    output = inputs.new_output()
    sums = torch.empty(w.batch, w.heads, w.seq_q, dtype=torch.float32, device=inputs.device)
    names = ("q", "k", "v", COLUMNS, *SCALES, *LISTS)
    addresses = {name: t[name].data_ptr() for name in names if name in t}
    addresses |= {"o": output.data_ptr(), "lse": sums.data_ptr()}
    call = forward_call(sizes_of(inputs, output), addresses)
    size = launcher.workspace_bytes(call)
    workspace = torch.empty(max(1, size), dtype=torch.uint8, device=inputs.device)
    place = workspace.data_ptr()

    # The launcher sees addresses only: who holds the launch holds the tensors behind them.
    def launch(
        workspace: Tensor = workspace, sums: Tensor = sums, inputs: Inputs = inputs
    ) -> Tensor:
        check_status(launcher.launch(call, place, size, stream()), variant.id)
        return output

    return Prepared(launch, output, log_sum_exp=sums, rounds_scores=variant.score_dtype is not None)


def gradient_strides(inputs: Inputs, outputs: Sequence[Tensor]) -> dict[str, Strides]:
    """Return the strides of dO and of the gradients by Q, K and V, as a kernel is told them."""
    tensors = zip(GRADIENTS, (inputs.tensors["grad"], *outputs), strict=True)
    return {name: strides_of(tensor.shape, tensor.stride()) for name, tensor in tensors}


def bind_gradients(
    launcher: AttentionLauncher, variant: VariantSpec, inputs: Inputs, stream: Callable[[], int]
) -> Prepared:
    """As ``bind_attention``, of a launcher whose outputs are the gradients by Q, K and V."""
    t, outputs = inputs.tensors, inputs.new_gradients()
    addresses = {name: tensor.data_ptr() for name, tensor in t.items()}
    addresses |= {name: each.data_ptr() for name, each in zip(GRADIENTS[1:], outputs, strict=True)}
    forward = attention_call(sizes_of(inputs, t["o"]), addresses)
    call = attention_backward_call(forward, gradient_strides(inputs, outputs), addresses)
    size = launcher.workspace_bytes(call)
    workspace = torch.empty(size, dtype=torch.uint8, device=inputs.device)
    place = workspace.data_ptr()

    def launch(workspace: Tensor = workspace, inputs: Inputs = inputs) -> Tensor:
        check_status(launcher.launch(call, place, size, stream()), variant.id)
        return outputs

    return Prepared(launch, outputs, arranged=inputs.joined)
