"""Kernels that cheat, and whether each is caught, and by what: ``{"task": "cheats"}``.

All of them claim to compute C = A B. Some are caught at the gate, by the check that is meant for
them; some pass the gate and must be caught in the timed run. An honest kernel runs beside them: a
net that catches that one too would prove nothing.
"""

import dataclasses
import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from assay.device.kernels.inputs import Inputs, Tensor
from assay.device.kernels.prepared import Prepared
from assay.device.tasks import published_cheats as published
from assay.device.tasks.caught_by import CAUGHT_BY, TIMED
from assay.device.tasks.correctness import check_arm
from assay.device.tasks.published_cheats import right
from assay.device.timing.bench_process import Bench, run_process
from assay.device.timing.stopwatch import CudaStopwatch
from assay.device.worker.cuda import DEVICE, open_cuda
from assay.device.worker.forks import Note, run_child
from assay.device.worker.locks import OpenGpu
from assay.device.worker.messages import progress, utc_now
from assay.shared.job import CheatsJob
from assay.shared.specs import ArmSpec, Json, ProtocolSpec, VariantSpec, WorkloadSpec

DEADLINE_S = 120.0
BUDGET_S = 240.0
"""Of all cheats together, which take seconds each."""
SEEDS = (1, 2)
GATE_LAUNCHES = 2 * len(SEEDS)
"""Launches of an arm bound in the gate: two for each seed, each seed bound anew."""
SPIN_CYCLES = 40_000_000
"""Some 20 ms: longer than the host needs to copy what is not there yet."""
REPEATS = 8
"""Of work that keeps whatever copies its output waiting for cores until it is done."""
WORKLOAD = WorkloadSpec(
    "cheats", "dense_gemm", "float16", "normal", 1, relative_tolerance=1e-3, m=2048, n=2048, k=2048
)
PROTOCOL = ProtocolSpec(
    id="cheats", blocks=4, samples=10, l2="cold", warmup_min_ms=5.0,
    warmup_max_ms=200.0, warmup_stable_fraction=0.05, telemetry_interval_ms=25.0, checked_turns=0.5,
)  # fmt: skip


def _elsewhere(spin_cycles: int, times: int) -> Callable[[Inputs], Prepared]:
    """Work on a stream that the caller's does not wait for, so many times over, after a pause."""

    def prepare(inputs: Inputs) -> Prepared:
        out, side = inputs.new_output(), torch.cuda.Stream()

        def launch() -> Tensor:
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                torch.cuda._sleep(spin_cycles)
                for _ in range(times):
                    out.copy_(right(inputs))
            return out

        return Prepared(launch, out)

    return prepare


def _cached(key: Callable[[Inputs], Any]) -> Callable[[Inputs], Prepared]:
    """A result kept from the first launch with the same key."""

    def compute(inputs: Inputs, out: Tensor, kept: dict[Any, Tensor]) -> None:
        name = key(inputs)
        if name not in kept:
            kept[name] = right(inputs)
        out.copy_(kept[name])

    return published.of(compute, dict)


def _corner(inputs: Inputs) -> Any:
    """Part of the contents, as a cheap hash would take it."""
    return tuple(inputs.tensors["b"][:4, :2].flatten().tolist())


def _warm_up_detector(inputs: Inputs, out: Tensor, calls: list[int]) -> None:
    calls.append(1)
    if len(calls) <= GATE_LAUNCHES:  # lazy from then on
        out.copy_(right(inputs))


def _reference_copied(inputs: Inputs, out: Tensor, found: list[Tensor]) -> None:
    """Looks through the process's memory for a float32 answer; honest where there is none."""
    if not found:
        found.extend(
            thing
            for thing in gc.get_objects()
            if type(thing) is torch.Tensor
            and thing.dtype == torch.float32
            and thing.shape == out.shape
        )
    out.copy_(found[0] if found else right(inputs))


@dataclass(frozen=True)
class Cheat:
    """A kernel, said in words; what must catch it is in ``CAUGHT_BY``."""

    what: str
    prepare: Callable[[Inputs], Prepared]
    needs_gpu: bool = False


CHEATS: dict[str, Cheat] = {
    "honest": Cheat("nothing: the control", published.honest),
    "other_stream": Cheat(
        "leaves its work on another stream and returns", _elsewhere(SPIN_CYCLES, 1), True
    ),
    "busy_stream": Cheat(
        "leaves its work on a stream that fills the GPU", _elsewhere(0, REPEATS), True
    ),
    "cached_by_pointer": Cheat(
        "keeps its result by the address of an input",
        _cached(lambda inputs: inputs.tensors["b"].data_ptr()),
    ),
    "cached_by_content": Cheat("keeps its result by a hash of part of an input", _cached(_corner)),
    "previous_result": Cheat("returns the result of the call before", published.previous_result),
    "warm_up_detector": Cheat(
        "stops working once it is warm", published.of(_warm_up_detector, list)
    ),
    "reference_copied": Cheat("copies the oracle's answer", published.of(_reference_copied, list)),
    "cached_by_shape": Cheat(
        "keeps its result by the shape of an input",
        _cached(lambda inputs: tuple(inputs.tensors["b"].shape)),
    ),
    "cached_in_file": Cheat("keeps its result in a file", published.cached_in_file),
    "every_second_call": Cheat("works at every second call", published.every_second_call),
    "old_memory": Cheat("returns memory as it finds it", published.old_memory),
    "lazy_tensor": Cheat("returns a tensor that is computed when read", published.lazy_tensor),
    "own_method": Cheat("returns a tensor whose method computes", published.own_method),
    "graph_stale": Cheat("replays a graph over old inputs", published.graph_stale, True),
    **{
        name: Cheat(what, published.of(compute))
        for name, (what, compute) in published.COMPUTED.items()
    },
    "frame_reader": Cheat(
        "works at the launch that the stopwatch will check", published.frame_reader
    ),
    "function_mode": Cheat("leaves on what sees PyTorch's calls", published.function_mode),
    **{
        name: Cheat(f"replaces {patch[1]} of what measures it", published.patching(*patch))
        for name, patch in published.PATCHES.items()
    },
    "put_back": Cheat("replaces what reads events until its turn has ended", published.put_back),
}


def _arm(name: str, workload: WorkloadSpec) -> ArmSpec:
    return ArmSpec(name, VariantSpec(name, "dense_gemm", "callable", entry=name), workload, None)


def _outcome(name: str, caught_by: list[str], timed_run: str, *, ended: bool) -> Json:
    """Return the CheatOutcome record."""
    meant = CAUGHT_BY[name]
    as_meant = ended and (meant in caught_by if meant else not caught_by)
    return {
        "name": name,
        "what": CHEATS[name].what,
        "meant": meant,
        "caught_by": caught_by,
        "as_meant": as_meant,
        "timed_run": timed_run,
        "ended": ended,
    }


def try_cheat(
    name: str, workload: WorkloadSpec, device: str, stopwatch: CudaStopwatch, note: Note
) -> Json:
    """The CheatOutcome of one cheat: through the gate, and through a timed run whatever that said.

    Both runs are independent: a cheat that the gate catches may pass the other, and the record
    shows it. ``caught`` is by the check that is meant for it, or by none for the honest one.
    """
    cheat, arm = CHEATS[name], _arm(name, workload)

    def prepare(_arm: ArmSpec, inputs: Inputs) -> Prepared:
        return dataclasses.replace(cheat.prepare(inputs), stranger=True)

    gate = check_arm(arm, SEEDS, device, prepare, note)
    failed = sorted({check["name"] for check in gate["checks"] if not check["passed"]})
    bench = Bench(PROTOCOL, stopwatch, device, prepare, note)
    wrong = run_process([arm], name, f"cheats:{name}", bench)["wrong"].get(name)
    caught_by = [*failed, *([TIMED] if wrong else [])]
    return _outcome(name, caught_by, wrong or "passed", ended=True)


def run_cheats(job: CheatsJob, gpu: OpenGpu) -> Json:
    """The CheatsRecord: every cheat in a fresh process on the GPU."""
    outcomes = []
    end = time.monotonic() + BUDGET_S
    for number, name in enumerate(CHEATS, start=1):

        def work(note: Note, name: str = name) -> Json:
            open_cuda(gpu.choice)
            return try_cheat(name, WORKLOAD, DEVICE, CudaStopwatch(cold=True), note)

        outcome = run_child(work, max(0.0, min(DEADLINE_S, end - time.monotonic())))
        outcomes.append(outcome.value or _outcome(name, [], str(outcome.error), ended=False))
        by = ", ".join(outcomes[-1]["caught_by"]) or "nothing"
        progress(number, len(CHEATS), f"{name}: caught by {by}")
    return {
        "schema": "assay/cheats/1",
        "target": job.target.id,
        "gpu_uuid": gpu.choice.uuid,
        "recorded_at": utc_now(),
        "cheats": outcomes,
    }
