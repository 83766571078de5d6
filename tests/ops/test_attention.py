"""torch.ops.assay.block_sparse_attention on a CPU: right, differentiable, clear when it refuses."""

import math

import pytest
import torch

from tests.ops.attention_helpers import dense, finite, masks, values

BLOCK, QUERIES, KEYS = 32, 80, 112


MASKS = masks(BLOCK, QUERIES, KEYS)


@pytest.fixture(params=list(MASKS))
def mask(request):
    return MASKS[request.param]


def attend(q, k, v, mask, **more):
    return torch.ops.assay.block_sparse_attention(q, k, v, **mask.arguments, **more)


class TestForward:
    """As dense attention under the same mask."""

    def test_float64(self, mask):
        q, k, v = values(mask)
        o, lse = attend(q, k, v, mask)
        right, sums = dense(q, k, v, mask.dense())
        assert torch.allclose(o, right, rtol=0, atol=1e-14)
        assert torch.allclose(lse, sums, rtol=0, atol=1e-14)
        assert not o[lse == -math.inf].any()

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
    def test_other_types_are_rounded_once(self, dtype):
        mask = MASKS["documents, a mask a batch"]
        q, k, v = values(mask, dtype=dtype)
        o, lse = attend(q, k, v, mask, scale=0.7)
        right, sums = dense(q.double(), k.double(), v.double(), mask.dense(), 0.7)
        assert (o.dtype, lse.dtype) == (dtype, torch.float32)
        limit = 1e-6 if dtype == torch.float32 else torch.finfo(dtype).eps
        assert (o - right).abs().max() <= limit * right.abs().max()
        assert torch.allclose(lse.double(), sums, atol=1e-5)


class TestGradients:
    """As autograd's own of dense attention; recomputed from the log-sum-exp."""

    def both(self, mask, **more):
        results = []
        for function, given in ((attend, mask), (dense, mask.dense())):
            q, k, v = values(mask, **more)
            o, lse = function(q, k, v, given)
            generator = torch.Generator().manual_seed(3)
            weights = [torch.randn(t.shape, generator=generator).to(t) for t in (o, lse)]
            loss = (o * weights[0]).sum() + (finite(lse) * weights[1]).sum()
            results.append(torch.autograd.grad(loss, (q, k, v)))
        return zip(*results, strict=True)

    @pytest.mark.parametrize("name", [name for name in MASKS if name != "nothing"])
    def test_as_dense(self, name):
        for mine, right in self.both(MASKS[name]):
            assert torch.allclose(mine, right, rtol=0, atol=1e-13)

    @pytest.mark.parametrize("name", ["an empty row", "window", "documents, a mask a batch"])
    def test_gradcheck(self, name):
        mask = MASKS[name]

        def work(q, k, v):
            o, lse = attend(q, k, v, mask, scale=0.3)
            return o, finite(lse)

        given = values(mask, heads=2, kv_heads=1, head_dim=3)
        torch.autograd.gradcheck(work, given, fast_mode=True)

    def test_gradients_of_gradients_are_refused(self):
        q, k, v = values(MASKS["window"])
        o, _ = attend(q, k, v, MASKS["window"])
        (grad,) = torch.autograd.grad(o.sum(), q, create_graph=True)
        with pytest.raises(RuntimeError, match="no autograd formula was registered"):
            grad.sum().backward()


@pytest.mark.parametrize("name", ["window", "sinks", "full and partial"])
def test_compiled_in_one_graph(name):
    mask = MASKS[name]

    def work(q, k, v):
        o, lse = attend(q * 2, k, v, mask)
        return torch.relu(o), finite(lse) + 1

    torch._dynamo.reset()
    results = []
    for function in (work, torch.compile(work, fullgraph=True, backend="aot_eager")):
        given = values(mask)
        o, lse = function(*given)
        (o.sum() + lse.sum()).backward()
        results.append([o, lse, *(tensor.grad for tensor in given)])
    for eager, graph in zip(*results, strict=True):
        assert torch.equal(eager, graph)
        assert eager.stride() == graph.stride()


class TestRefusals:
    """One sentence for each wrong argument."""

    @pytest.fixture
    def given(self):
        mask = MASKS["full and partial"]
        q, k, v = (tensor.detach() for tensor in values(mask))
        return {"q": q, "k": k, "v": v, **mask.arguments}

    @pytest.mark.parametrize(
        ("change", "kind", "said"),
        [
            (lambda g: {"q": g["q"][0]}, ValueError, "q must be"),
            (lambda g: {"v": g["v"].float()}, TypeError, "alike"),
            (lambda g: {"v": g["v"][:, :, 1:]}, ValueError, "alike"),
            (lambda g: {"k": g["k"].mT.contiguous().mT}, ValueError, "head_dim lie together"),
            (lambda g: {"q": g["q"][:, :3]}, ValueError, "cannot share"),
            (lambda g: {"q": g["q"][:, :, :0]}, ValueError, "extent"),
            (lambda g: {"scale": -1.0}, ValueError, "scale"),
            (lambda g: {"block": 24}, ValueError, "block"),
            (lambda g: {"full_counts": None}, ValueError, "together"),
            (lambda g: {"full_counts": g["full_counts"].long()}, TypeError, "torch.int32"),
            (
                lambda g: {"partial_columns": g["partial_columns"].mT.contiguous().mT},
                ValueError,
                "contiguous",
            ),
            (lambda g: {"window_right": 0}, ValueError, "only one"),
            (lambda g: {"window_right": 2**31}, ValueError, "window_right"),
            (lambda g: {"order": g["full_counts"][0]}, ValueError, "order"),
            (lambda g: {"full_columns": g["full_columns"] + 9}, ValueError, "full_columns"),
            (lambda g: {"full_counts": g["full_counts"] + 9}, ValueError, "full_counts"),
            (
                lambda g: {
                    "full_counts": g["partial_counts"],
                    "full_columns": g["partial_columns"],
                },
                ValueError,
                "twice",
            ),
        ],
    )
    def test_what_is_said(self, given, change, kind, said):
        given.update(change(given))
        q, k, v = (given.pop(name) for name in "qkv")
        with pytest.raises(kind, match=said):
            torch.ops.assay.block_sparse_attention(q, k, v, **given)
