"""launch: what a launcher is given, and what its answer becomes. CUDA is faked."""

import pytest
import torch

from assay.ops import launch as launching
from assay.ops import operators
from assay.ops.kernel_set import KernelSet, only
from assay.shared.launch_abi import WORKSPACE_BYTES
from tests.ops.helpers import bsr, dense_b, kernel, pretend_hopper

M, N, K, BLOCK = 64, 40, 48, (16, 12)


class Launcher:
    """Answers with a code, and keeps what it was given."""

    def __init__(self, code=0):
        self.code = code
        self.calls = []

    def __call__(self, *arguments):
        self.calls.append(arguments)
        return self.code


@pytest.fixture
def launcher(monkeypatch):
    found = Launcher()
    monkeypatch.setattr(launching, "_launcher", lambda kernel: found)
    pretend_hopper(monkeypatch)
    with only(KernelSet("h100", (kernel(),))):
        yield found


def operands(dtype=torch.float16):
    _, parts = bsr(M, K, BLOCK, dtype)
    return [*parts, dense_b(K, N, dtype)]


def test_a_launcher_gets_pointers_extents_workspace_and_stream(launcher):
    given = operands()
    output = operators._gemm_cuda(*given)
    (call,) = launcher.calls
    assert call[:4] == tuple(tensor.data_ptr() for tensor in given)
    assert call[4] == output.data_ptr()
    assert call[5:8] == (M, N, K)
    assert call[9:] == (WORKSPACE_BYTES, 77)
    assert (output.shape, output.dtype) == ((M, N), torch.float16)


def test_a_refused_shape_is_a_value_error(launcher):
    launcher.code = 1
    with pytest.raises(ValueError, match="mine with m = 64, n = 40, k = 48 refused"):
        operators._gemm_cuda(*operands())


def test_nothing_stored_is_not_launched(launcher):
    values, row_ptr, col_idx, b = operands()
    output = operators._gemm_cuda(values[:0], row_ptr * 0, col_idx[:0], b)
    assert not launcher.calls
    assert not output.any()


def test_a_matrix_at_an_odd_address_is_refused(launcher):
    values, row_ptr, col_idx, b = operands()
    shifted = torch.empty(K * N + 1, dtype=b.dtype)[1:].reshape(K, N)
    with pytest.raises(ValueError, match="no multiple of 16 bytes"):
        operators._gemm_cuda(values, row_ptr, col_idx, shifted)
    assert not launcher.calls


def test_a_library_with_another_digest_is_not_opened(tmp_path):
    (tmp_path / "mine.so").write_bytes(b"other")
    with pytest.raises(RuntimeError, match="has SHA-256"):
        launching._launcher(kernel(path=tmp_path / "mine.so"))
