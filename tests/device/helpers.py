"""Small workloads, arms and stand-ins for NVML and the GPU's stopwatch."""

import ctypes
import itertools
import random
import time
from dataclasses import replace

from assay.device.worker.telemetry import Choice, NvmlSample
from assay.shared.specs import ArmSpec, PatternSpec, VariantSpec, WorkloadSpec
from tests.jobs import QUICK, SPARSE


def bsr_workload(**changes):
    return replace(SPARSE, **{"id": "tiny_bsr", "relative_tolerance": 2e-3, **changes})


def bsr_bsr_workload(**changes):
    return bsr_workload(
        id="tiny_bsr_bsr",
        operation="bsr_bsr_gemm",
        pattern_b=PatternSpec("random", 32, 16, 1),
        **changes,
    )


def drawn_workload(**changes):
    """Columns as a generator throws them: a search in those of B misses some."""
    a, b = PatternSpec("drawn", 16, 32, 6), PatternSpec("drawn", 32, 16, 6)
    given = {"id": "tiny_drawn", "operation": "bsr_bsr_gemm", "pattern": a, "pattern_b": b}
    return bsr_workload(**{**given, "k": 256, "n": 128, **changes})


def dense_workload(**changes):
    return bsr_workload(id="tiny_dense", operation="dense_gemm", pattern=None, **changes)


def fp8_workload(**changes):
    return bsr_workload(
        **{"id": "tiny_fp8", "dtype": "float8_e4m3", "relative_tolerance": 1e-2, **changes}
    )


def fp8_dense_workload(**changes):
    return fp8_workload(id="tiny_fp8_dense", operation="dense_gemm", pattern=None, **changes)


def attention_workload(**changes):
    given = WorkloadSpec(
        "tiny_attention", "dense_attention", "float16", "normal", 1, relative_tolerance=4e-3,
        batch=2, heads=3, seq_q=64, seq_kv=64, head_dim=16,
    )  # fmt: skip
    return replace(given, **changes)


def sparse_attention_workload(**changes):
    return attention_workload(
        **{
            "id": "tiny_sparse_attention",
            "operation": "block_sparse_attention",
            "pattern": PatternSpec("random", 16, 16, 2),
            **changes,
        }
    )


def gradient_workload(**changes):
    return sparse_attention_workload(
        **{
            "id": "tiny_gradients",
            "operation": "block_sparse_attention_backward",
            "dtype": "bfloat16",
            "relative_tolerance": 5e-3,
            **changes,
        }
    )


def make_arm(name, workload, kind="library"):
    abi = workload.operation if kind == "kernel" else None
    variant = VariantSpec(name, workload.operation, kind, symbol="launch", abi=abi, entry=name)
    return ArmSpec(name, variant, workload, None)


def protocol(**changes):
    return replace(QUICK, **{"samples": 3, **changes})


def load_workload(**changes):
    return bsr_workload(
        id="tiny_load", operation="tma_load", pattern=None, n=0, relative_tolerance=1e-6, **changes
    )


class SteadySensor:
    """A GPU that does nothing remarkable; ``reasons`` as given."""

    def __init__(self, reasons=0):
        self.reasons = reasons

    def read(self):
        return NvmlSample(1980, 2619, 350.5, 55, self.reasons)


class SteadyGpu:
    """As an OpenGpu, without one."""

    nvml = None

    def __init__(self, uuid="GPU-0000-0"):
        self.choice = Choice(0, uuid, "NVIDIA H100 80GB HBM3")

    def sensor(self):
        return SteadySensor()

    def watch(self):
        return None

    def exclusivity(self):
        return {"lock": None, "waited_s": 0.0, "other_processes": None,
                "memory_in_use_bytes": None, "remark": ""}  # fmt: skip


class HostStopwatch:
    """Times launches by the host's clock: right for work that is done when the call returns."""

    def __init__(self, hand_over=lambda document: None):
        self._hand_over, self._count = hand_over, itertools.count()

    def turn(
        self,
        launch,
        samples,
        lead_ms=0.0,
        before=lambda number: None,
        keeps=(),
        look=None,
        counts=False,
    ):
        from assay.device.timing.stopwatch import Timing, copy_output

        times, started = [], time.monotonic()
        for number in range(samples):
            before(number)
            began = time.perf_counter()
            output = launch()
            times.append((time.perf_counter() - began) * 1e3)
            for keep in keeps:
                if keep.number == number or (
                    keep.number is None and not random.randrange(number + 1)
                ):
                    copy_output(output, keep)
            if look is not None:
                look()
        found = {"started": started, "ended": time.monotonic(), "number": -1}
        if counts:
            found["number"] = next(self._count)
        timing = Timing(times, sum(times) / samples, **found)
        if counts:
            self._hand_over(timing.taken())
        return timing


class HostMemory:
    """As sanitized.Driver, of memory that an emulated launch reaches."""

    def __init__(self):
        self.buffers = []

    def allocate(self, size):
        self.buffers.append(ctypes.create_string_buffer(b"\xff" * size, size + 128))
        return -(-ctypes.addressof(self.buffers[-1]) // 128) * 128

    def upload(self, data):
        address = self.allocate(len(data))
        ctypes.memmove(address, data, len(data))
        return address

    def synchronize(self):
        pass


def on_the_cpu(monkeypatch, *tasks):
    """Have the timing, and other tasks, do on a CPU what they do on a GPU."""
    import torch

    from assay.device.tasks import benchmark

    for module in (benchmark, *tasks):
        monkeypatch.setattr(module, "DEVICE", "cpu")
        monkeypatch.setattr(module, "open_cuda", lambda choice: None)
    monkeypatch.setattr(benchmark, "CudaStopwatch", lambda cold, counter, send: HostStopwatch(send))
    monkeypatch.setattr(benchmark, "open_counter", lambda: (None, "no cycles: no GPU"))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)


def project_arm(entry, code, **problem):
    """An arm that a project's function returns by this name."""
    given = {"id": "problem", "dtype": "float32", "seed": 3, "relative_tolerance": 1e-5, **problem}
    workload = WorkloadSpec(operation="callable", distribution="own", code=code, **given)
    return ArmSpec(entry, VariantSpec(entry, "callable", "callable", entry=entry), workload, None)


def gate(arm, seeds=(1, 2), prepare=None):
    from assay.device.kernels.bindings import prepare_arm
    from assay.device.tasks.correctness import check_arm

    return check_arm(arm, seeds, "cpu", prepare or prepare_arm, lambda note: None)


def timed(arms, reference, seed="seed", prepare=None, rules=None, **told):
    """What one process measures of arms, by the host's clock."""
    from assay.device.kernels.bindings import prepare_arm
    from assay.device.timing.bench_process import Bench, run_process

    told = {"note": lambda note: None, **told}
    stopwatch = HostStopwatch(told.get("hand_over", lambda document: None))
    bench = Bench(rules or protocol(), stopwatch, "cpu", prepare or prepare_arm, **told)
    return run_process(arms, reference, seed, bench)


def honest(arm, inputs):
    """Bind an arm that does what the oracle does."""
    from assay.device.kernels.oracles import oracle
    from assay.device.kernels.prepared import Prepared

    out = inputs.new_output()
    return Prepared(lambda: out.copy_(oracle(inputs)), out)
