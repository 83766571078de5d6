"""torch.ops.assay through each kernel of a folder, held against its own reference in float64.

On a GPU, with ASSAY_KERNELS naming a folder that ``./assay lab kernels`` wrote; elsewhere the
reference stands in for the kernels.
"""

import os

import pytest
import torch

from assay.ops import OPERATORS, AttentionMask, KernelSet, load, only
from assay.ops.fp8_blocks import quantise, restored
from assay.ops.kernel_set import Call
from tests.ops.attention_helpers import assert_near, finite, masks, values
from tests.ops.helpers import FP8, bsr, dense_b, kernel

FOLDER = os.environ.get("ASSAY_KERNELS") if torch.cuda.is_available() else None
DEVICE, BACKEND = ("cuda", "inductor") if FOLDER else ("cpu", "aot_eager")
ATTENTION = "block_sparse_attention"
BACKWARD = "block_sparse_attention_backward"
LIMITS = {"float8_e4m3": 4.5e-2}
"""Of attention that rounds its probabilities so far."""
TOLERANCES = {"float16": 1e-3, "bfloat16": 5e-3, "float8_e4m3": 1e-2}
STAND_INS = KernelSet(
    "h100",
    (
        kernel(id="plain"),
        kernel(id="eights", dtype="float8_e4m3", block=(16, 16)),
        kernel(id="sparse", operation="bsr_bsr_gemm", dtype="bfloat16", block_b=(12, 8)),
        kernel(id="fused", operation=ATTENTION, block=(32, 32), head_dim=16),
        kernel(id="fused8", operation=ATTENTION, dtype="float8_e4m3", block=(32, 32), head_dim=16),
        kernel(id="gradients", operation=BACKWARD, block=(32, 32), head_dim=16),
    ),
)
KERNELS = load(FOLDER) if FOLDER else STAND_INS


@pytest.fixture(params=KERNELS.kernels, ids=lambda each: each.id)
def made(request):
    """A kernel, which alone is loaded. Of a kernel for gradients: its forward pass, beside it."""
    loaded = (request.param, *forward_of(request.param))
    with only(KernelSet(KERNELS.target, loaded)):
        yield loaded[-1]


def forward_of(made):
    """The forward pass that a kernel for gradients is tried behind; none for other kernels."""
    if made.operation != BACKWARD:
        return ()
    wanted = Call(ATTENTION, made.dtype, made.block, None, 0, None, (9, 0), made.head_dim)
    return (KERNELS.find(wanted),)


def is_value(given):
    return isinstance(given, torch.Tensor) and given.dtype.is_floating_point


def there(given):
    return given.detach().to(DEVICE) if isinstance(given, torch.Tensor) else given


def product(made):
    """The arguments of a product with an empty block row."""
    (rows, cols), dtype = made.block, FP8 if made.dtype == "float8_e4m3" else None
    dtype = dtype or getattr(torch, made.dtype)
    _, parts = bsr(6 * rows, 5 * cols, made.block, dtype)
    if made.block_b is None:
        return [*parts, dense_b(5 * cols, 256, dtype)], {}
    n = 3 * made.block_b[1]
    return [*parts, *bsr(5 * cols, n, made.block_b, dtype, seed=1)[1], n], {}


def attends_in_fp8(made):
    return made.operation == ATTENTION and made.dtype == "float8_e4m3"


def operator_of(made):
    return f"{made.operation}_fp8" if attends_in_fp8(made) else made.operation


def attention(made, mask, seed=1):
    dtype = torch.bfloat16 if attends_in_fp8(made) else getattr(torch, made.dtype)
    more = {"head_dim": made.head_dim, "dtype": dtype, "seed": seed}
    return values(mask, **more), mask.arguments


def calls(made):
    if made.operation != ATTENTION:
        return [product(made)]
    block = made.block[0]
    return [attention(made, mask) for mask in masks(block, 4 * block - 24, 5 * block - 8).values()]


def run(made, given, named, *, wide=False, grad=False):
    """What the operator gives, then the gradients of its values; ``wide``: of the reference."""
    move = (lambda x: x.detach().double().contiguous() if is_value(x) else x) if wide else there
    if wide and attends_in_fp8(made):
        given = [restored(*quantise(x.detach())) for x in given]
    given = [move(x).clone() if is_value(x) else move(x) for x in given]
    named = named if wide else {name: there(x) for name, x in named.items()}
    leaves = [x.requires_grad_(grad) for x in given if is_value(x)]
    operator = made.operation if wide else operator_of(made)
    found = getattr(torch.ops.assay, operator)(*given, **named)
    found = found if made.operation == ATTENTION else (found,)
    if not grad:
        return list(found)
    generator = torch.Generator().manual_seed(2)
    weights = [torch.randn(x.shape, generator=generator).to(x) for x in found]
    loss = sum((finite(x) * w).sum() for x, w in zip(found, weights, strict=True))
    return [*(x.detach() for x in found), *torch.autograd.grad(loss, leaves)]


def assert_alike(found, right, limit):
    right = right.to(found.device, torch.float64)
    assert (found.double() - right).norm() <= limit * right.norm()


def test_as_the_reference(made):
    for given, named in calls(made):
        found, right = run(made, given, named), run(made, given, named, wide=True)
        if made.operation == ATTENTION:
            assert_near(found, right, found[0].dtype, LIMITS.get(made.dtype))
        else:
            assert_alike(found[0], right[0], TOLERANCES[made.dtype])


def test_gradients(made):
    limit = 2 * TOLERANCES[made.dtype]
    if attends_in_fp8(made):
        limit = 6e-2  # O, which they rest on, is as far off as its probabilities are rounded
    elif made.dtype == "float8_e4m3":
        return
    n = 2 if made.operation == ATTENTION else 1
    for given, named in calls(made):
        grads = (run(made, given, named, wide=wide, grad=True)[n:] for wide in (False, True))
        for mine, right in zip(*grads, strict=True):
            assert_alike(mine, right, limit)


def test_opcheck(made):
    given, named = calls(made)[-2 if made.operation == ATTENTION else 0]
    given, named = list(map(there, given)), {name: there(x) for name, x in named.items()}
    left = {"test_utils": ("test_faketensor", "test_aot_dispatch_dynamic")}
    torch.library.opcheck(
        OPERATORS[operator_of(made)], tuple(given), named,
        **(left if made.dtype == "float8_e4m3" else {}),  # PyTorch compares no FP8 tensors
    )  # fmt: skip


def test_compiled_in_one_graph(made):
    given, named = calls(made)[-2 if made.operation == ATTENTION else 0]
    given, named = list(map(there, given)), {name: there(x) for name, x in named.items()}
    operator = getattr(torch.ops.assay, operator_of(made))

    def work(*given):
        found = operator(*given, **named)
        return torch.relu(found[0] if made.operation == ATTENTION else found) * 2

    torch._dynamo.reset()
    compiled = torch.compile(work, fullgraph=True, backend=BACKEND)
    assert_alike(compiled(*given), work(*given), TOLERANCES[made.dtype])


def test_a_cuda_graph_replays_other_values_and_lists(made):
    """A forward pass waits for nothing, so that it can be captured. A CPU, without graphs, runs it
    again.
    """
    if made.operation != ATTENTION:
        return
    block = made.block[0]
    both = []
    for seed in (1, 2):
        mask = AttentionMask.from_mask_mod(
            lambda batch, head, query, key, seed=seed: (key <= query)
            | (key // block == (head + seed) % 4),
            4 * block, 4 * block, heads=4, block=block,
        ).with_room(4)  # fmt: skip
        both.append(attention(made, mask, seed))
    (given, named), (others, lists) = both
    right = run(made, others, lists, wide=True)
    given, named = list(map(there, given)), {name: there(x) for name, x in named.items()}
    found = []

    def work():
        found[:] = getattr(torch.ops.assay, operator_of(made))(*given, **named)

    replay = captured(work) if FOLDER else work
    for old, new in (*zip(given, others, strict=True), *((named[n], lists[n]) for n in named)):
        if isinstance(old, torch.Tensor):
            old.copy_(new.detach())
    replay()
    assert_near(found, right, found[0].dtype, LIMITS.get(made.dtype))


def captured(work):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        work()  # opens the library
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay
