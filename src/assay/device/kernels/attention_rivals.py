"""Rivals in attention: libraries called on the same inputs, prepared once, outside the timing."""

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from assay.device.kernels.inputs import ROWS, Inputs, Tensor
from assay.device.kernels.prepared import Prepared, import_rival
from assay.shared.errors import Unsupported
from assay.shared.specs import WorkloadSpec
from assay.shared.stored_blocks import Blocks

FLEX_TILE = 128
"""Largest tile FlexAttention picks by itself; smaller sparse blocks need it told."""
TUNED = "max-autotune-no-cudagraphs"
"""The mode in which torch.compile chooses tiles by measuring."""
FLASHINFER_WORKSPACE = 128 * 2**20
"""Bytes of the buffer that FlashInfer's documentation recommends."""
CUTE = "FlashAttention's CuTe kernel"
CUDNN = "cuDNN's block-sparse attention"
_NO_BACKEND = ("No available kernel", "No viable backend")
"""By which PyTorch's plain RuntimeError says that the one backend left takes no such problem."""


def _qkv(inputs: Inputs) -> tuple[Tensor, Tensor, Tensor]:
    t = inputs.tensors
    return t["q"], t["k"], t["v"]


def _sequence_first(inputs: Inputs) -> tuple[Tensor, Tensor, Tensor]:
    """Q, K and V as views [B, S, H, D]."""
    q, k, v = (tensor.transpose(1, 2) for tensor in _qkv(inputs))
    return q, k, v


def _refusing(what: str, launch: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """Return a launch that raises Unsupported where its library refuses the problem."""

    def checked() -> Tensor:
        try:
            return launch()
        except (NotImplementedError, ValueError) as error:
            raise Unsupported(f"{what}: {error}") from error

    return checked


def _shares_heads(w: WorkloadSpec) -> bool:
    return w.key_heads != w.heads


def _sdpa(backend: str) -> Callable[[Inputs], Prepared]:
    """Scaled dot product attention by one named backend of PyTorch."""

    def prepare(inputs: Inputs) -> Prepared:
        attention = importlib.import_module("torch.nn.attention")
        chosen = getattr(attention.SDPBackend, backend)
        q, k, v = _qkv(inputs)
        w = inputs.workload

        def launch() -> Tensor:
            with attention.sdpa_kernel(chosen):
                try:
                    return torch.nn.functional.scaled_dot_product_attention(
                        q, k, v, is_causal=w.causal, enable_gqa=_shares_heads(w)
                    )
                except RuntimeError as error:
                    if any(words in str(error) for words in _NO_BACKEND):
                        raise Unsupported(f"{backend} takes no such problem here") from error
                    raise

        return Prepared(launch, None)

    return prepare


def flex_block_lists(inputs: Inputs, kind: str, blocks: Blocks) -> tuple[Tensor, Tensor]:
    """Return counts [1,1,rows] and indices [1,1,rows,cols] of the ``full`` or ``partial`` blocks;
    unused places hold 0. FlexAttention takes indices as wide as the grid.
    """
    shape = (1, 1, blocks.grid_rows, blocks.grid_cols)
    indices = torch.zeros(shape, dtype=torch.int32, device=inputs.device)
    counts = inputs.tensors.get(f"{kind}_counts")
    if counts is None:
        return torch.zeros(shape[:3], dtype=torch.int32, device=inputs.device), indices
    columns = inputs.tensors[f"{kind}_columns"]
    indices[..., : columns.shape[-1]] = columns
    return counts, indices


def _window(w: WorkloadSpec) -> Callable[..., Tensor] | None:
    """The window as a mask_mod of FlexAttention, which runs it on partial blocks alone."""
    if not w.windowed:
        return None
    shift, left, right = w.seq_kv - w.seq_q, w.window_left, w.window_right

    def seen(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        place = key - (query + shift)
        if left is None:
            return place <= right
        if right is None:
            return place >= -left
        return (place >= -left) & (place <= right)

    return seen


def _flex(inputs: Inputs, mode: str | None) -> tuple[Callable[..., Tensor], Any]:
    """FlexAttention of Q, K and V as ``torch.compile`` in ``mode`` compiles it, and its block mask.
    None: with its usual tiles. Mask code runs on the blocks that a window cuts, and on no others.
    """
    flex = importlib.import_module("torch.nn.attention.flex_attention")
    blocks = inputs.blocks
    if blocks is None:
        raise Unsupported("flex_attention is here for block-sparse workloads only")
    w = inputs.workload
    if w.seq_q % blocks.block_rows or w.seq_kv % blocks.block_cols:
        raise Unsupported("full blocks only: the sequence must be a whole number of blocks")
    mask = flex.BlockMask.from_kv_blocks(
        *flex_block_lists(inputs, "partial", blocks),
        *flex_block_lists(inputs, "full", blocks),
        BLOCK_SIZE=(blocks.block_rows, blocks.block_cols),
        mask_mod=_window(w),
        seq_lengths=(w.seq_q, w.seq_kv),
    )
    compiled = torch.compile(flex.flex_attention, dynamic=False, fullgraph=True, mode=mode)
    sides = {"BLOCK_M": blocks.block_rows, "BLOCK_N": blocks.block_cols}
    # Tile sizes that divide the sparse blocks, where FlexAttention's own choice would not.
    options: dict[str, Any] | None = {name: min(side, FLEX_TILE) for name, side in sides.items()}
    if not any(side % FLEX_TILE for side in sides.values()):
        options = None
    attend = partial(compiled, block_mask=mask, kernel_options=options, enable_gqa=_shares_heads(w))
    return attend, mask


def _flex_attention(inputs: Inputs, mode: str | None = None) -> Prepared:
    """FlexAttention's forward pass."""
    attend, _ = _flex(inputs, mode)
    q, k, v = _qkv(inputs)

    def launch() -> Tensor:
        # Outside inference, autograd would have the kernel write what a backward pass needs.
        with torch.no_grad():
            return attend(q, k, v)

    return Prepared(launch, None)


def _flex_gradients(inputs: Inputs, mode: str | None = None) -> Prepared:
    """FlexAttention's backward pass alone, of a forward pass done before."""
    # Else a graph may be walked only once: the first walk would use up its log-sum-exps.
    settings: Any = importlib.import_module("torch._functorch.config")
    settings.donated_buffer = False
    attend, _ = _flex(inputs, mode)
    # The same memory: autograd would refuse Q and K whose signs were turned in place since.
    leaves = [tensor.data.requires_grad_() for tensor in _qkv(inputs)]
    grad = inputs.tensors["grad"]
    attended: list[Tensor] = []

    def forward() -> None:
        attended[:] = [attend(*leaves)]

    def launch() -> Tensor:
        return torch.autograd.grad(attended[0], leaves, grad, retain_graph=True)

    forward()
    return Prepared(launch, None, refresh=forward, arranged=inputs.joined)


def _fa3(inputs: Inputs) -> Prepared:
    """FlashAttention-3's forward pass of [B, S, H, D] views: only its last stride must be 1."""
    library = import_rival("fa3_fwd_interface")
    if inputs.workload.dtype not in ("bfloat16", "float8_e4m3"):
        raise Unsupported("this build of FlashAttention-3 has kernels for bfloat16 and FP8 only")
    q, k, v = _sequence_first(inputs)

    def launch() -> Tensor:
        return library.flash_attn_func(q, k, v, causal=inputs.workload.causal).transpose(1, 2)

    return Prepared(launch, None)


def _cute(inputs: Inputs) -> Prepared:
    """FlashAttention's CuTe kernel for Hopper, dense."""
    library = import_rival("flash_attn.cute.interface")
    q, k, v = _sequence_first(inputs)

    def launch() -> Tensor:
        found = library._flash_attn_fwd(q, k, v, causal=inputs.workload.causal)
        return found[0].transpose(1, 2)

    return Prepared(launch, None)


def _cute_lists(counts: Tensor, selected: Tensor, blocks: Blocks) -> Any:
    """Return lists of blocks as FlashAttention's CuTe kernels take them, all of them full."""
    sparsity = import_rival("flash_attn.cute.block_sparsity")
    none = torch.zeros_like(counts), torch.zeros_like(selected)
    block = blocks.block_rows, blocks.block_cols
    return sparsity.BlockSparseTensorsTorch(*none, counts, selected, block_size=block)


def _cute_sparse(inputs: Inputs) -> Prepared:
    """FlashAttention's CuTe kernel for Hopper: over the selected blocks, all of them full; over a
    sliding window by the way that it has for windows, which is its faster one.
    """
    library = import_rival("flash_attn.cute.interface")
    w, blocks = inputs.workload, inputs.blocks
    if blocks is None:
        raise Unsupported("block lists are here for block-sparse workloads only")
    q, k, v = _sequence_first(inputs)
    if w.windowed:
        if w.pattern is None or w.pattern.kind != "sliding_window":
            raise Unsupported("a window within other selected blocks takes mask code of its own")
        options: dict[str, Any] = {
            "window_size_left": w.window_left,
            "window_size_right": w.window_right,
        }
    else:
        counts, columns = inputs.tensors["full_counts"], inputs.tensors["full_columns"]
        options = {"block_sparse_tensors": _cute_lists(counts, columns, blocks)}

    def launch() -> Tensor:
        return library._flash_attn_fwd(q, k, v, **options)[0].transpose(1, 2)

    return Prepared(_refusing(CUTE, launch), None)


def _cute_gradients(inputs: Inputs) -> Prepared:
    """FlashAttention's CuTe kernels for Hopper, backward, over the selected blocks, all of them
    full. They take the rows of each key block, listed outside the timing.
    """
    library = import_rival("flash_attn.cute.interface")
    w, blocks = inputs.workload, inputs.blocks
    if blocks is None or w.windowed:
        raise Unsupported("a window within selected blocks takes mask code of its own")
    _, mask = _flex(inputs, None)
    lists = _cute_lists(mask.full_q_num_blocks, mask.full_q_indices, blocks)
    q, k, v = _sequence_first(inputs)
    o, grad = (inputs.tensors[name].transpose(1, 2) for name in ("o", "grad"))
    lse = inputs.tensors["lse"]

    def launch() -> Tensor:
        found = library._flash_attn_bwd(q, k, v, o, grad, lse, block_sparse_tensors=lists)
        return tuple(each.transpose(1, 2) for each in found[:3])

    return Prepared(_refusing(CUTE, launch), None, arranged=inputs.joined)


def _cudnn_lists(inputs: Inputs) -> tuple[Any, int, Tensor, Tensor | None]:
    """cuDNN's module, the side of a block, its columns, and their counts: None where all rows have
    as many blocks, which is its faster way.
    """
    library = import_rival("cudnn.block_sparse_attention.api")
    w, blocks = inputs.workload, inputs.blocks
    if blocks is None or w.windowed or blocks.block_rows != blocks.block_cols:
        raise Unsupported("cuDNN's block-sparse attention takes whole square blocks")
    lists = (w.batch, w.heads)
    columns = inputs.tensors["full_columns"].expand(*lists, -1, -1).contiguous()
    counts = inputs.tensors["full_counts"].expand(*lists, -1).contiguous()
    uneven = bool((counts != columns.shape[-1]).any())
    return library, blocks.block_rows, columns, counts if uneven else None


def _cudnn_sparse(inputs: Inputs) -> Prepared:
    """cuDNN's block-sparse attention."""
    library, side, columns, counts = _cudnn_lists(inputs)
    q, k, v = _qkv(inputs)
    uneven = counts is not None
    options = {"q2k_block_nums": counts, "allow_empty_block_nums": True} if uneven else {}

    def launch() -> Tensor:
        return library.block_sparse_attention_forward(
            q, k, v, columns, sparse_block_size=side, **options
        )["o_tensor"]

    return Prepared(_refusing(CUDNN, launch), None)


def _cudnn_gradients(inputs: Inputs) -> Prepared:
    """cuDNN's block-sparse attention, backward. Each call lists the rows of each key block."""
    library, side, columns, counts = _cudnn_lists(inputs)
    given = [inputs.tensors[name] for name in ("grad", "q", "k", "v", "o", "lse")]

    def launch() -> Tensor:
        found = library.block_sparse_attention_backward(
            *given, columns, sparse_block_size=side, q2k_block_nums=counts
        )
        return tuple(found[f"d{name}_tensor"] for name in "qkv")

    return Prepared(_refusing(CUDNN, launch), None, arranged=inputs.joined)


def _flashinfer_rows(inputs: Inputs) -> tuple[Blocks, list[Tensor]]:
    """Return the blocks, and of each row their columns, where FlashInfer takes such a problem."""
    w, blocks = inputs.workload, inputs.blocks
    if blocks is None or w.windowed or w.batch != 1:
        raise Unsupported("FlashInfer's kernels for Hopper take selected blocks of one batch")
    if w.seq_q % blocks.block_rows or w.seq_kv % blocks.block_cols:
        raise Unsupported("FlashInfer's kernels for Hopper take whole blocks")
    counts, columns = (inputs.tensors[f"full_{name}"][0, 0] for name in ("counts", "columns"))
    return blocks, [row[:count] for row, count in zip(columns, counts.tolist(), strict=True)]


def _flashinfer_sparse(inputs: Inputs) -> Prepared:
    """FlashInfer's block-sparse attention by the kernels that it has for Hopper, which a caller has
    to ask for: bf16, D = 128, blocks of 64x64, as many heads of K and V as of Q.
    """
    library = import_rival("flashinfer.sparse")
    w, blocks, columns = inputs.workload, *_flashinfer_rows(inputs)
    grid = blocks.grid_rows, blocks.grid_cols
    selected = torch.zeros(grid, dtype=torch.bool, device=inputs.device)
    for row, listed in enumerate(columns):
        selected[row, listed.long()] = True
    sizes = torch.full((w.heads, blocks.grid_rows), blocks.block_rows, dtype=torch.int32)
    widths = torch.full((w.heads, blocks.grid_cols), blocks.block_cols, dtype=torch.int32)
    workspace = torch.empty(FLASHINFER_WORKSPACE, dtype=torch.uint8, device=inputs.device)
    wrapper = library.VariableBlockSparseAttentionWrapper(workspace, backend="cake")
    try:
        wrapper.plan(
            selected.expand(w.heads, -1, -1).contiguous(),
            sizes.to(inputs.device), widths.to(inputs.device),
            w.heads, w.key_heads, w.head_dim, q_data_type=inputs.dtype,
        )  # fmt: skip
    except ValueError as error:
        raise Unsupported(f"FlashInfer's kernels for Hopper: {error}") from error
    q, k, v = (tensor[0] for tensor in _qkv(inputs))

    def launch() -> Tensor:
        return wrapper.run(q, k, v)[None]

    return Prepared(launch, None)


def _flashinfer_fp8(inputs: Inputs) -> Prepared:
    """FlashInfer's block-sparse attention in FP8. It reads V by rows, and a scale a head: without
    any it would fill its own within each launch.
    """
    library = import_rival("flashinfer.sparse")
    w, blocks, columns = inputs.workload, *_flashinfer_rows(inputs)
    workspace = torch.empty(FLASHINFER_WORKSPACE, dtype=torch.uint8, device=inputs.device)
    wrapper = library.BlockSparseAttentionWrapper(workspace, backend="fa3")
    ends = torch.tensor([0, *(len(row) for row in columns)]).cumsum(0)
    try:
        wrapper.plan(
            ends.to(inputs.device, torch.int32), torch.cat(columns),
            w.seq_q, w.seq_kv, blocks.block_rows, blocks.block_cols,
            w.heads, w.key_heads, w.head_dim,
            q_data_type=inputs.dtype, o_data_type=torch.bfloat16,
        )  # fmt: skip
    except ValueError as error:
        raise Unsupported(f"FlashInfer's kernels for Hopper: {error}") from error
    q, k, _ = (tensor[0] for tensor in _sequence_first(inputs))
    v = inputs.tensors[ROWS][0].transpose(0, 1)
    scales = [torch.ones(each.shape[1], device=inputs.device) for each in (q, k, v)]

    def launch() -> Tensor:
        return wrapper.run(q, k, v, *scales).transpose(0, 1)[None]

    return Prepared(launch, None)


PREPARE: dict[str, Callable[[Inputs], Prepared]] = {
    "sdpa_flash": _sdpa("FLASH_ATTENTION"),
    "sdpa_efficient": _sdpa("EFFICIENT_ATTENTION"),
    "sdpa_cudnn": _sdpa("CUDNN_ATTENTION"),
    "sdpa_math": _sdpa("MATH"),
    "flex_attention": _flex_attention,
    "flex_attention_tuned": partial(_flex_attention, mode=TUNED),
    "fa3": _fa3,
    "fa4": _cute,
    "fa4_sparse": _cute_sparse,
    "cudnn_sparse": _cudnn_sparse,
    "flashinfer_sparse": _flashinfer_sparse,
    "flashinfer_fp8": _flashinfer_fp8,
    "flex_gradients": _flex_gradients,
    "flex_gradients_tuned": partial(_flex_gradients, mode=TUNED),
    "fa4_gradients": _cute_gradients,
    "cudnn_gradients": _cudnn_gradients,
}
"""Variant.entry to the function that prepares it."""
