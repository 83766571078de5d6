"""torch.ops.assay on a CPU: right, checked by PyTorch's own tools, and clear when it refuses."""

import pytest
import torch

from assay.ops import OPERATORS, check_pattern
from tests.ops.helpers import FP8, bsr, dense_b

TOLERANCES = {torch.float16: 5e-4, torch.bfloat16: 4e-3, FP8: 4e-3, torch.float64: 1e-14}
M, N, K, BLOCK, BLOCK_B = 64, 40, 48, (16, 12), (12, 8)


def relative(output, right):
    return float((output.double() - right).norm() / right.norm())


@pytest.fixture(params=list(TOLERANCES), ids=str)
def dtype(request):
    return request.param


class TestProducts:
    """Both products, in every element type, with an empty block row."""

    def test_bsr_gemm(self, dtype):
        a, parts = bsr(M, K, BLOCK, dtype)
        b = dense_b(K, N, dtype)
        c = torch.ops.assay.bsr_gemm(*parts, b)
        assert c.dtype == (torch.bfloat16 if dtype == FP8 else dtype)
        assert c.is_contiguous()
        assert relative(c, a @ b.double()) < TOLERANCES[dtype]
        assert not c[16:32].any()

    def test_bsr_bsr_gemm(self, dtype):
        a, left = bsr(M, K, BLOCK, dtype)
        b, right = bsr(K, N, BLOCK_B, dtype, seed=1)
        c = torch.ops.assay.bsr_bsr_gemm(*left, *right, N)
        assert c.dtype == (torch.bfloat16 if dtype == FP8 else dtype)
        assert relative(c, a @ b) < TOLERANCES[dtype]


class TestGradients:
    """Against finite differences, in float64."""

    def test_bsr_gemm(self):
        _, (values, *pattern) = bsr(M, K, BLOCK, torch.float64)
        b = dense_b(K, 8, torch.float64).requires_grad_()
        assert torch.autograd.gradcheck(
            lambda v, d: torch.ops.assay.bsr_gemm(v, *pattern, d), (values.requires_grad_(), b)
        )

    def test_bsr_bsr_gemm(self):
        _, (values, *pattern) = bsr(12, 12, (4, 3), torch.float64)
        _, (other, *pattern_b) = bsr(12, 8, (3, 2), torch.float64, seed=1)
        assert torch.autograd.gradcheck(
            lambda v, w: torch.ops.assay.bsr_bsr_gemm(v, *pattern, w, *pattern_b, 8),
            (values.requires_grad_(), other.requires_grad_()),
        )

    def test_fp8_has_none_and_says_so(self):
        _, (values, *pattern) = bsr(M, K, BLOCK, FP8)
        with pytest.raises(RuntimeError, match="FP8 products have no gradient"):
            torch.ops.assay.bsr_gemm(values.requires_grad_(), *pattern, dense_b(K, N, FP8))


class TestPyTorchsOwnChecks:
    """opcheck, and torch.compile without a break of the graph."""

    @pytest.mark.parametrize("grad", [False, True])
    def test_opcheck_of_products(self, grad):
        _, (values, *pattern) = bsr(M, K, BLOCK, torch.float16)
        _, (other, *pattern_b) = bsr(K, N, BLOCK_B, torch.float16, seed=1)
        values, other = values.requires_grad_(grad), other.requires_grad_(grad)
        b = dense_b(K, N, torch.float16).requires_grad_(grad)
        for name, arguments in {
            "bsr_gemm": (values, *pattern, b),
            "bsr_bsr_gemm": (values, *pattern, other, *pattern_b, N),
        }.items():
            results = torch.library.opcheck(OPERATORS[name], arguments)
            assert set(results.values()) == {"SUCCESS"}

    def test_compiled_in_one_graph(self):
        _, (values, *pattern) = bsr(M, K, BLOCK, torch.float64)

        def work(v, d):
            return torch.relu(torch.ops.assay.bsr_gemm(v * 0.5, *pattern, d)) + 1

        results = []
        for run in (work, torch.compile(work, fullgraph=True, backend="aot_eager")):
            operands = [t.clone().requires_grad_() for t in (values, dense_b(K, N, torch.float64))]
            output = run(*operands)
            output.sum().backward()
            results.append([output.detach(), *(operand.grad for operand in operands)])
        for eager, compiled in zip(*results, strict=True):
            torch.testing.assert_close(compiled, eager)

    def test_shapes_may_stay_symbolic(self):
        """Another n is no reason to compile again."""
        _, parts = bsr(M, K, BLOCK, torch.float32)
        traced = []

        def backend(graph, _inputs):
            traced.append(graph)
            return graph.forward

        run = torch.compile(
            lambda b: torch.ops.assay.bsr_gemm(*parts, b),
            fullgraph=True, dynamic=True, backend=backend,
        )  # fmt: skip
        for n in (17, 29, 41):  # no other extent of these operands
            assert run(dense_b(K, n, torch.float32)).shape == (M, n)
        assert len(traced) == 1


class TestRefusals:
    """Each wrong argument, in a sentence; in eager mode and for fake tensors alike."""

    CASES = (
        ("col_idx", lambda t: t.long(), TypeError, "a_col_idx is torch.int64"),
        ("values", lambda t: t.transpose(1, 2), ValueError, "a_values is not contiguous"),
        ("values", lambda t: t[0], ValueError, "must be .stored_blocks, block_rows"),
        ("values", lambda t: t[1:], ValueError, "blocks, a_col_idx"),
        ("values", lambda t: t.int(), TypeError, "which no kernel multiplies"),
        ("row_ptr", lambda t: t[:0], ValueError, "a_row_ptr is empty"),
        ("b", lambda t: t.t().contiguous().t(), ValueError, "b is not contiguous"),
        ("b", lambda t: t[:-1], ValueError, "no whole number of blocks 12 wide"),
        ("b", lambda t: t.bfloat16(), TypeError, "they must be alike"),
        ("b", lambda t: t[0], ValueError, "b must be a matrix"),
    )

    @pytest.mark.parametrize("fake", [False, True])
    @pytest.mark.parametrize(("name", "spoil", "kind", "words"), CASES)
    def test_bsr_gemm(self, name, spoil, kind, words, fake):
        _, (values, row_ptr, col_idx) = bsr(M, K, BLOCK, torch.float16)
        good = {
            "values": values,
            "row_ptr": row_ptr,
            "col_idx": col_idx,
            "b": dense_b(K, N, torch.float16),
        }
        wrong = {**good, name: spoil(good[name])}
        if fake:
            wrong = {key: tensor.to("meta") for key, tensor in wrong.items()}
        with pytest.raises(kind, match=words):
            torch.ops.assay.bsr_gemm(*wrong.values())

    def test_row_major_fp8(self):
        _, parts = bsr(M, K, BLOCK, FP8)
        with pytest.raises(ValueError, match="transpose of a contiguous"):
            torch.ops.assay.bsr_gemm(*parts, dense_b(K, N, FP8).contiguous())

    def test_blocks_that_do_not_meet(self):
        _, parts = bsr(M, K, BLOCK, torch.float16)
        _, other = bsr(K, N, (16, 8), torch.float16)
        with pytest.raises(ValueError, match="they must meet"):
            torch.ops.assay.bsr_bsr_gemm(*parts, *other, N)

    @pytest.mark.parametrize(
        ("row_ptr", "col_idx", "words"),
        [
            ([1, 2], [0, 1], "must start at 0"),
            ([0, 2, 1, 2], [0, 1], "must not fall"),
            ([0, 2], [1, 0], "must rise"),
            ([0, 2], [0, 9], r"must lie in \[0, 4\)"),
        ],
    )
    def test_broken_patterns(self, row_ptr, col_idx, words):
        with pytest.raises(ValueError, match=words):
            check_pattern(torch.tensor(row_ptr), torch.tensor(col_idx), 4)
