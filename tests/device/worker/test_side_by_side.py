"""side_by_side: what was for want of room, and where nobody may share."""

import pytest

from assay.device.worker import side_by_side as neighbours


@pytest.mark.parametrize(
    "error",
    [
        "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total ...",
        "RuntimeError: CUDA error: out of memory",
        "AcceleratorError: CUDA error: out of memory\nCUDA kernel errors might be reported later",
        "RuntimeError: Triton Error [CUDA]: out of memory",
        "RuntimeError: cudaErrorMemoryAllocation",
        "RuntimeError: bsr_gemm_64 failed with cudaError_t 2",
        "RuntimeError: cusparseCreate failed with cusparseStatus_t 2",
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate()`",
        "PyTorch cannot use L4: CUDA error: CUDA-capable device(s) is/are busy or unavailable",
        "RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes",
        "MemoryError: ",
        "died of SIGKILL",
    ],
)
def test_want_of_room(error):
    assert neighbours.no_room(error)


@pytest.mark.parametrize(
    "error",
    [
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        "RuntimeError: bsr_gemm_64 failed with cudaError_t 700",
        "RuntimeError: bsr_gemm_64 failed with cudaError_t 209",
        "RuntimeError: cusparseSpMM failed with cusparseStatus_t 6",
        "OutOfResources: out of resource: shared memory, Required: 262144, limit: 232448",
        "RuntimeError: CUDA error: too many resources requested for launch",
        "died of SIGSEGV",
        "died of SIGABRT",
        "stopped after 600 s",
        "ended without a result",
        "RuntimeError: variant 'k' has no compiled library in this job",
        "",
    ],
)
def test_other_failures_are_the_arms_own(error):
    assert not neighbours.no_room(error)


class TestWidth:
    def test_is_more_than_one_where_contexts_are_apart(self, monkeypatch, tmp_path):
        monkeypatch.setenv(neighbours.MPS_VARIABLE, str(tmp_path))
        assert neighbours.width() == neighbours.SIDE_BY_SIDE == 3

    def test_is_one_under_a_server_that_they_share(self, monkeypatch, tmp_path):
        (tmp_path / "control").touch()
        monkeypatch.setenv(neighbours.MPS_VARIABLE, str(tmp_path))
        assert neighbours.width() == 1

    def test_looks_where_cuda_looks_by_itself(self, monkeypatch, tmp_path):
        (tmp_path / "control").touch()
        monkeypatch.delenv(neighbours.MPS_VARIABLE, raising=False)
        monkeypatch.setattr(neighbours, "MPS_DIRECTORY", str(tmp_path))
        assert neighbours.width() == 1
