"""All processes of a benchmark: fork, sample telemetry meanwhile, assemble the record."""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import torch

from assay.device.kernels.bindings import prepare_arm
from assay.device.kernels.sweep import TUNED, allow_sweeps
from assay.device.timing.bench_process import (
    TIME_DIGITS,
    Alone,
    Bench,
    RunProcess,
    run_process,
    works_on,
)
from assay.device.timing.clocks import open_counter
from assay.device.timing.cuda_graphs import GraphFailed
from assay.device.timing.schedule import CONTROL, plan_blocks
from assay.device.timing.stopwatch import CudaStopwatch
from assay.device.worker.cuda import DEVICE, open_cuda
from assay.device.worker.forks import ChildOutcome, Note, each_child, width
from assay.device.worker.handover import Handover, Send
from assay.device.worker.helper import Helper
from assay.device.worker.locks import OpenGpu, Watch
from assay.device.worker.messages import progress, utc_now
from assay.device.worker.relay import Relay
from assay.device.worker.telemetry import Choice, NvmlSensor, Recorder, TelemetryTrace
from assay.shared.confinement import UNCONFINED, available
from assay.shared.counting import counted
from assay.shared.errors import DeviceError, FailureKind, NoContext
from assay.shared.job import BenchmarkJob
from assay.shared.specs import ArmSpec, ComparisonSpec, Json, ProtocolSpec

DEADLINE_S = 900.0
"""A process that has not ended by then hangs; one with compilation takes under three minutes."""
SECONDS_DIGITS = 4
CHANGED = "incorrect: times were changed after they had been taken"


@dataclass(frozen=True)
class TimedProcesses:
    """Process records, and the arms that lost their samples, with the reason."""

    processes: list[Json]
    dropped: dict[str, str]
    remarks: list[str] = field(default_factory=list)
    """What the processes had to say of themselves, each once."""
    wrong: list[str] = field(default_factory=list)
    """Dropped arms of which a timed output was wrong."""


def _turn(turn: Json, origin: float, launches: dict[str, int]) -> Json:
    taken = turn["taken"]
    return {
        "arm": turn["arm"],
        "times_ms": [round(ms / launches[turn["of"]], TIME_DIGITS) for ms in taken["times_ms"]],
        **{name: turn[name] for name in ("checked", "relative_error", "clock_mhz")},
        "started_s": round(taken["started"] - origin, SECONDS_DIGITS),
        "ended_s": round(taken["ended"] - origin, SECONDS_DIGITS),
    }


def without(process: Json, arms: set[str], control: str) -> Json:
    """Return a Process record without the samples of ``arms``, and of a control among them."""
    names = arms | ({CONTROL} if control in arms else set())
    return {
        **process,
        "arms": [facts for facts in process["arms"] if facts["arm"] not in names],
        "blocks": [
            {**block, "turns": [turn for turn in block["turns"] if turn["arm"] not in names]}
            for block in process["blocks"]
        ],
    }


@dataclass
class BenchmarkProcesses:
    """Processes of some arms: up to ``at_once`` get ready side by side, and are timed one after the
    other.

    An arm that raises or kills its process is dropped and the process started again without it, and
    so are a stranger's arms where times were changed. An arm whose checked output is wrong is
    dropped after it ran. Each loses all its samples: what is wrong once is not reported as a time.
    Where one of several processes fails, each is started alone: it may have lacked memory that
    others took, or waited for one that hangs.
    """

    arms: Sequence[ArmSpec]
    control: str
    protocol: ProtocolSpec
    numbers: range
    sensor: NvmlSensor
    run: RunProcess
    label: str
    watch: Watch | None = None
    at_once: int = 1

    def measure(self) -> TimedProcesses:
        """Run the processes of these ``numbers``. Raises DeviceError when one fails on its own, and
        GraphFailed when an arm's launches could not be captured.
        """
        found = TimedProcesses([], {})
        while len(found.processes) < len(self.numbers):
            left = [arm for arm in self.arms if arm.id not in found.dropped]
            if not left:
                return replace(found, processes=[])
            self._measure_group(self.numbers[len(found.processes) :][: self.at_once], left, found)
        kept = [without(each, set(found.dropped), self.control) for each in found.processes]
        return replace(found, processes=kept)

    def _measure_group(self, group: range, arms: Sequence[ArmSpec], found: TimedProcesses) -> None:
        """Add what processes side by side came to, up to the first that does not count."""
        recorder = Recorder(self.sensor, self._interval_s)

        def look(running: Collection[int]) -> None:
            recorder.poll()
            if self.watch is not None:
                self.watch.poll(len(running))

        try:
            children = _in_children(self.run, arms, group, look)
        except NoContext:
            if len(group) == 1:
                raise
            self.at_once = 1
            return
        recorder.sample()
        for index, (outcome, sent) in zip(group, children, strict=True):
            if outcome.value is None:
                self._failed(index, outcome, arms, len(group) > 1, found)
            elif not self._as_told(index, outcome.value, sent, arms):
                changed = {arm.id: CHANGED for arm in arms if arm.variant.kind == "callable"}
                if not changed:
                    raise DeviceError(f"{self.label}: process {index + 1} lost times of its turns")
                found.dropped.update(changed)
                found.wrong.extend(changed)
                self._tell(index, CHANGED)
            else:
                self._add(index, outcome, sent, recorder.telemetry, found)
                continue
            return

    def _failed(
        self,
        index: int,
        outcome: ChildOutcome,
        arms: Sequence[ArmSpec],
        beside: bool,
        found: TimedProcesses,
    ) -> None:
        """Note what a process without a result means; ``beside``: whether others were there."""
        if outcome.kind is FailureKind.NOT_CAPTURED:
            raise GraphFailed(f"{outcome.note}: {outcome.error}")
        if beside:
            self.at_once = 1
        elif outcome.note in {arm.id for arm in arms}:
            found.dropped[outcome.note] = f"failed: {outcome.error}"
        else:
            raise DeviceError(f"{self.label}: process {index + 1} {outcome.error}")
        self._tell(index, f"{outcome.note} {outcome.error}")

    def _as_told(
        self, index: int, value: Json, sent: Sequence[Json], arms: Sequence[ArmSpec]
    ) -> bool:
        """Return whether a process took the turns that were planned, and remembers them as they
        were sent: for each, in order, what the stopwatch took and what was found of it. Else a
        stranger's code changed them.
        """
        names = [arm.id for arm in arms]
        names += [CONTROL] if self.control in names else []
        rules, seed = self.protocol, seed_of(self.label, index)
        plan = plan_blocks(names, rules.blocks, rules.checked_turns, seed)
        planned = [[slot.name for slot in slots] for slots in plan]
        turns = [turn for block in value["blocks"] for turn in block]
        single = all(facts["launches_per_sample"] == 1 for facts in value["arms"])
        return (
            planned == [[turn["arm"] for turn in block] for block in value["blocks"]]
            and sent[::2] == [turn["taken"] for turn in turns]
            and [each.get("turn") for each in sent[1::2]] == turns
            and [each.get("number") for each in sent[::2]] == list(range(len(turns)))
            and (single or rules.timer != "events")
        )

    def _add(
        self,
        index: int,
        outcome: ChildOutcome,
        sent: Sequence[Json],
        telemetry: TelemetryTrace,
        found: TimedProcesses,
    ) -> None:
        value, wrong = outcome.value or {}, _wrong(sent)
        found.dropped.update(wrong)
        found.wrong.extend(name for name in wrong if name not in found.wrong)
        remarks = value.get("remarks", [])
        found.remarks.extend(each for each in remarks if each not in found.remarks)
        telemetry = telemetry.between(*_span(value, sent))
        launches = {facts["arm"]: facts["launches_per_sample"] for facts in value["arms"]}
        record = {
            "index": index,
            "arms": value["arms"],
            "blocks": [self._block(turns, telemetry, launches) for turns in value["blocks"]],
            "telemetry": telemetry.record(),
            "seconds": round(outcome.seconds - value["waited_s"], SECONDS_DIGITS),
            "timer": value["timer"],
        }
        found.processes.append(record)
        self._tell(index, _summary(record))

    def _block(
        self, turns: Sequence[Json], telemetry: TelemetryTrace, launches: dict[str, int]
    ) -> Json:
        """Return a block of the Process record, void where the GPU or somebody disturbed it."""
        started = min(turn["taken"]["started"] for turn in turns)
        ended = max(turn["taken"]["ended"] for turn in turns)
        reasons = [telemetry.void_reason(started, ended, self._interval_s)]
        reasons += [self.watch.void_reason(started, ended)] if self.watch else []
        return {
            "turns": [_turn(turn, telemetry.origin, launches) for turn in turns],
            "void": ", ".join(reason for reason in reasons if reason) or None,
            "regimes": telemetry.regimes(started, ended, self._interval_s),
        }

    @property
    def _interval_s(self) -> float:
        """Between two samples of telemetry."""
        return self.protocol.telemetry_interval_ms / 1e3

    def _tell(self, index: int, text: str) -> None:
        progress(index + 1, self.numbers.stop, f"{self.label}: {text}")


def _in_children(
    run: RunProcess,
    arms: Sequence[ArmSpec],
    group: range,
    look: Callable[[Collection[int]], object],
) -> list[tuple[ChildOutcome, list[Json]]]:
    """Return what became of each process, and what it sent as its turns ended."""
    with ExitStack() as stack:
        relay = stack.enter_context(closing(Relay(len(group))))
        handovers = [stack.enter_context(closing(Handover())) for _ in group]

        def work(number: int, note: Note) -> Json:
            hand_over = handovers[number].as_child()
            return run(arms, group[number], note, hand_over, partial(relay.alone, number))

        def tick(running: Collection[int]) -> None:
            relay.poll(running)
            for handover in handovers:
                handover.poll()
            look(running)

        works = [partial(work, number) for number in range(len(group))]
        outcomes = list(each_child(works, DEADLINE_S, len(works), on_tick=tick))
        return [
            (outcome, handover.documents())
            for outcome, handover in zip(outcomes, handovers, strict=True)
        ]


def seed_of(label: str, index: int) -> str:
    """Return what a process of a comparison plans its turns by."""
    return f"{label}:{index}"


def _span(value: Json, sent: Sequence[Json]) -> tuple[float, float]:
    """Return from when to when a process was alone; all turns that it sent lie within, whatever it
    says: a stranger's code could hide what voids a block.
    """
    began, ended = value["span"]
    return min(began, sent[0]["started"]), max(ended, sent[-2]["ended"])


def _wrong(sent: Sequence[Json]) -> dict[str, str]:
    """Return what is wrong with arms, by what their process sent of its turns."""
    found = {name: says for each in sent[1::2] for name, says in each["wrong"].items()}
    for taken, told in zip(sent[::2], sent[1::2], strict=True):
        if says := works_on(taken["after_ms"]):
            found.setdefault(told["turn"]["of"], says)
    return found


def _summary(process: Json) -> str:
    blocks = process["blocks"]
    void = sum(block["void"] is not None for block in blocks)
    samples = sum(len(turn["times_ms"]) for block in blocks for turn in block["turns"])
    discarded = f", {void} void" if void else ""
    return (
        f"{counted(len(blocks), 'block')}{discarded}, {counted(samples, 'sample')}, "
        f"{process['seconds']:.1f} s"
    )


def benchmark_record(
    comparison: str, target: str, choice: Choice, protocol: str, not_timed: dict[str, str]
) -> Json:
    """Return the BenchmarkRecord, still without processes."""
    return {
        "schema": "assay/benchmark/1",
        "comparison": comparison,
        "target": target,
        "gpu_uuid": choice.uuid,
        "recorded_at": utc_now(),
        "protocol": protocol,
        "not_timed": not_timed,
        "wrong": [],
        "processes": [],
        "seconds": 0.0,
        "remarks": [],
        "clock_of": "launch",
    }


def _measure(
    comparison: ComparisonSpec,
    arms: Sequence[ArmSpec],
    protocol: ProtocolSpec,
    numbers: range,
    gpu: OpenGpu,
) -> TimedProcesses:
    """Return the processes of these numbers under a protocol, on the GPU.

    No other process is beside one that times launches as it gets ready, or that runs a project's
    code, which could work on while it waits.
    """
    shared = all(arm.workload.code is None and arm.variant.entry not in TUNED for arm in arms)
    at_once = width() if shared else 1

    def run(arms: Sequence[ArmSpec], index: int, note: Note, hand_over: Send, alone: Alone) -> Json:
        properties = open_cuda(gpu.choice)
        if at_once == 1:
            allow_sweeps()

        @contextmanager
        def with_room() -> Iterator[Sequence[float]]:
            torch.cuda.empty_cache()  # others get ready meanwhile
            with alone() as waited:
                yield waited

        counter, remark = open_counter()
        flushed = protocol.l2 == "cold" and protocol.timer == "events"
        stopwatch = CudaStopwatch(flushed, counter, hand_over)
        l2_bytes = int(getattr(properties, "L2_cache_size", 0))
        bench = Bench(
            protocol, stopwatch, DEVICE, prepare_arm, note, l2_bytes,
            hand_over=hand_over, alone=with_room,
        )  # fmt: skip
        value = run_process(arms, comparison.control, seed_of(comparison.id, index), bench)
        return {**value, "remarks": [*value["remarks"], *([remark] if remark else [])]}

    told = (protocol, numbers, gpu.sensor(), run, comparison.id, gpu.watch(), at_once)
    return BenchmarkProcesses(arms, comparison.control, *told).measure()


def run_benchmark(job: BenchmarkJob, gpu: OpenGpu) -> Json:
    """Return the BenchmarkRecord of a comparison's arms that passed the gate.

    Where the protocol asks for graphs and one arm can't be captured, all arms are timed by events,
    so that they stay comparable, and the record remarks on it.
    """
    began = time.monotonic()
    comparison, protocol = job.comparison, job.protocol
    record = benchmark_record(
        comparison.id, job.target.id, gpu.choice, protocol.id, dict(job.not_timed)
    )
    if job.runs_project and not available():
        record["remarks"].append(UNCONFINED)
    if Helper.library is None:
        record["remarks"].append(f"times were taken by Python code: {Helper.lacks}")
    arms = [arm for arm in comparison.arms if arm.id in job.timed]
    numbers = range(job.first, job.processes)
    try:
        measured = _measure(comparison, arms, protocol, numbers, gpu)
    except GraphFailed as error:
        record["remarks"].append(f"timed by events, not by graphs: {error}")
        progress(job.first, job.processes, f"{comparison.id}: {record['remarks'][-1]}")
        protocol = replace(protocol, timer="events")
        measured = _measure(comparison, arms, protocol, numbers, gpu)
    if job.runs_project and job.first == 0 and len(arms) > 1:
        control = [arm for arm in arms if arm.id == comparison.control]
        alone = _measure(comparison, control, protocol, range(1), gpu)
        record["alone"] = next(iter(alone.processes), None)
    record["not_timed"].update(measured.dropped)
    record["wrong"] = measured.wrong
    record["remarks"] += measured.remarks
    record["processes"] = measured.processes
    record["seconds"] = round(time.monotonic() - began, SECONDS_DIGITS)
    record["exclusivity"] = gpu.exclusivity()
    return record
