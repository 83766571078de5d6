"""One benchmark process: prepare all arms, warm each up, take the planned turns."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

from assay.device.kernels.drawn_inputs import make_inputs, memory_found
from assay.device.kernels.inputs import Inputs
from assay.device.kernels.oracles import Errors
from assay.device.kernels.prepared import Prepare
from assay.device.timing.phases import MemoryWatch, Phases, input_bytes
from assay.device.timing.rounds import Rotating, Round, Single, Subject
from assay.device.timing.schedule import CONTROL, Slot, plan_blocks
from assay.device.timing.stopwatch import (
    STILL_MS,
    CudaStopwatch,
    WarmUp,
    nothing,
    settle,
    warm_up,
)
from assay.device.worker.cuda import persisting_bytes, set_no_l2_aside
from assay.device.worker.forks import Note
from assay.device.worker.handover import Send
from assay.device.worker.harness_guard import HarnessGuard, changed_words
from assay.shared.launch_facts import launch_facts
from assay.shared.specs import ArmSpec, Json, ProtocolSpec

TIME_DIGITS = 6
"""Decimals kept of a time in ms: an event resolves about half a microsecond."""


@dataclass(frozen=True)
class Bench:
    """The instruments and settings with which a process measures."""

    protocol: ProtocolSpec
    stopwatch: CudaStopwatch
    device: str
    prepare: Prepare
    note: Note
    phases: Phases
    l2_bytes: int = 0
    """For the buffers of a graph."""
    clock: Callable[[], float] = time.monotonic
    hand_over: Send = nothing
    """Called with each turn as it ends, {"turn", "wrong"}: it leaves the process."""


@dataclass(frozen=True)
class _Ready:
    """An arm that is warm."""

    arm: ArmSpec
    round: Round
    warm: WarmUp
    unwritten: Json | None
    """What the inputs held that nobody wrote."""
    launch_bytes: int | None
    """Device memory beside the inputs; None where many sets of buffers rotate."""


def _make_ready(arms: Sequence[ArmSpec], seed: str, bench: Bench) -> dict[str, _Ready]:
    """Prepare and warm up all arms; arms of one workload share its tensors and its oracle."""
    fresh = _unwritten(arms, bench)
    found = {name: memory_found(inputs) for name, inputs in fresh.items()}
    memory = MemoryWatch(bench.device)
    subjects: dict[str, Subject] = {}
    bound: list[tuple[ArmSpec, Round]] = []
    for arm in arms:
        bench.note(arm.id)
        name = arm.workload.id
        if name not in subjects:
            subjects[name] = _subject(arm, seed, bench, fresh.get(name))
        with bench.phases.phase("prepare"):
            memory.start()
            bound.append((arm, subjects[name].bind(arm, bench.prepare)))
            memory.bound(arm.id)
    ready = {}
    for arm, round_ in bound:
        bench.note(arm.id)
        memory.start()
        with bench.phases.phase("warm_up"):
            warm = warm_up(
                bench.stopwatch, round_.launch, bench.protocol, bench.clock, round_.before
            )
        memory.launched(arm.id)
        bench.phases.move("warm_up", "first_launch", warm.first_s)
        single = bench.protocol.timer == "events"
        ready[arm.id] = _Ready(
            arm,
            round_,
            warm,
            found.get(arm.workload.id),
            memory.launch_bytes(arm.id) if single else None,
        )
    return ready


def _unwritten(arms: Sequence[ArmSpec], bench: Bench) -> dict[str, Inputs]:
    """Inputs that are never written, by workload: allocated before all else in this process, so
    that they lie in memory as the driver gave it, and in none that a tensor of ours left behind.
    """
    with bench.phases.phase("inputs"):
        return {
            arm.workload.id: make_inputs(arm.workload, bench.device, arm.workload.seed)
            for arm in arms
            if not arm.workload.written
        }


def _subject(arm: ArmSpec, seed: str, bench: Bench, made: Inputs | None) -> Subject:
    """Return the tensors of a workload, ready to be launched on; ``made`` where they are there."""
    with bench.phases.phase("inputs"):
        inputs = made or make_inputs(arm.workload, bench.device, arm.workload.seed)
        cold = bench.protocol.l2 == "cold"
        if bench.protocol.timer == "graph":
            return Rotating(inputs, f"{seed}:{arm.workload.id}", bench.l2_bytes, cold)
    with bench.phases.phase("oracle"):
        return Single(inputs, f"{seed}:{arm.workload.id}")


def _take_turn(
    slot: Slot,
    ready: _Ready,
    source: random.Random,
    bench: Bench,
    wrong: dict[str, str],
    guard: HarnessGuard | None,
) -> Json:
    """Return one turn. A checked turn whose output is wrong is noted in ``wrong`` by arm id."""
    round_, samples = ready.round, ready.warm.samples
    checked = slot.checked and ready.arm.workload.written
    with bench.phases.phase("turns"):
        # No launch of a turn has this number: none of these is one that is checked.
        settled_ms = settle(
            bench.stopwatch, round_.launch, ready.warm.settling, lambda _: round_.before(-1)
        )
    # Every draw is made whether the turn is checked or not: nothing tells a launch that it is.
    number, poisoned = source.randrange(samples), source.random() < 0.5
    keeps = round_.start_turn(number if checked else None, samples, poisoned)
    with bench.phases.phase("turns"):
        started = bench.clock()
        timing = bench.stopwatch.turn(
            round_.launch,
            samples,
            ready.warm.lead_ms,
            round_.before,
            keeps,
            guard.look if guard is not None and round_.stranger else None,
        )
        ended = bench.clock()
    found: list[Errors] = []
    if checked:
        with bench.phases.phase("checks"):
            found = round_.errors()
        for beyond in filter(None, (errors.beyond(ready.arm.workload) for errors in found)):
            wrong[ready.arm.id] = f"incorrect: the output of a timed launch is wrong ({beyond})"
    if timing.after_ms > STILL_MS and ready.arm.id not in wrong:
        after = f"another stream works on for {timing.after_ms:.3f} ms"
        wrong[ready.arm.id] = f"incorrect: when the time of its launches has ended, {after}"
    return {
        "arm": slot.name,
        "times_ms": [round(ms / round_.launches, TIME_DIGITS) for ms in timing.times_ms],
        "started": started,
        "ended": ended,
        "checked": checked,
        "relative_error": _largest(found),
        "clock_mhz": timing.clock_mhz,
        "settled_ms": settled_ms,
    }


def _largest(found: Sequence[Errors]) -> float | None:
    """Return the largest relative error; None where there is none, or one is not finite."""
    known = [errors.relative for errors in found if errors.relative is not None]
    return max(known) if known and len(known) == len(found) else None


def _blamed(guard: HarnessGuard, arms: Sequence[str]) -> dict[str, str]:
    """Return what is wrong with arms if one of them changed what measures them: they share this
    process, and which of them it was, nobody knows.
    """
    changed = guard.changed()
    return dict.fromkeys(arms, f"incorrect: {changed_words(changed)}") if changed else {}


def _remarks(guard: HarnessGuard, set_aside: int | None) -> Iterator[str]:
    """Yield what a project's code did that is no cheat, but may make its times look better.

    ``set_aside``: the bytes of L2 that were set aside before the turns; None without a GPU.
    """
    if names := guard.set_anew():
        yield f"its code set {', '.join(names)}: the reference ran under that, too"
    if set_aside is not None and persisting_bytes() > set_aside:
        yield "its code sets L2 aside for persisting lines: launches of a turn may find their data"


def run_process(arms: Sequence[ArmSpec], control: str, seed: str, bench: Bench) -> Json:
    """Everything one process measures; times of turns are on the monotonic clock.

    ``bench.note`` hears which arm is being run, so that the parent knows whose fault an error is.
    Raises GraphFailed where the protocol asks for graphs and an arm can't be captured.
    """
    protocol = bench.protocol
    strangers = [arm.id for arm in arms if arm.variant.kind == "callable"]
    guard = HarnessGuard(*arms) if strangers else None
    ready = _make_ready(arms, seed, bench)  # their code was loaded, and has run
    set_aside = set_no_l2_aside() if strangers and bench.device != "cpu" else None
    wrong: dict[str, str] = {}
    names = [arm.id for arm in arms]
    if control in ready:
        ready[CONTROL] = ready[control]
        names.append(CONTROL)
    source = random.Random(f"{seed}:checks")  # noqa: S311 - reproducible, not secret
    blocks = []
    for slots in plan_blocks(names, protocol.blocks, protocol.checked_turns, seed):
        turns = []
        for slot in slots:
            bench.note(ready[slot.name].arm.id)
            turns.append(_take_turn(slot, ready[slot.name], source, bench, wrong, guard))
            if guard is not None:  # now: a later launch might put it back
                wrong |= _blamed(guard, strangers)
            bench.hand_over({"turn": turns[-1], "wrong": wrong})
        blocks.append(turns)
    timed_ms = sum(
        sum(turn["times_ms"]) * ready[turn["arm"]].round.launches
        for turns in blocks
        for turn in turns
    )
    warm_ms = sum(ready[arm.id].warm.gpu_ms for arm in arms)
    settled_ms = sum(turn["settled_ms"] for turns in blocks for turn in turns)
    return {
        "arms": [_arm_facts(ready[arm.id]) for arm in arms],
        "blocks": blocks,
        "wrong": wrong,
        "gpu_seconds": (timed_ms + warm_ms + settled_ms) / 1e3,
        "timer": protocol.timer,
        "remarks": list(_remarks(guard, set_aside)) if guard is not None else [],
        "wall": bench.phases.record(),
    }


def _arm_facts(ready: _Ready) -> Json:
    """Return the ArmFacts record."""
    arm, inputs = ready.arm, ready.round.inputs
    return {
        "arm": arm.id,
        "variant": arm.variant.id,
        "workload": arm.workload.id,
        **asdict(launch_facts(arm.workload, inputs.blocks, inputs.blocks_b)),
        "binary_sha256": arm.artifact.sha256 if arm.artifact else None,
        "warmup_ms": round(ready.warm.gpu_ms, TIME_DIGITS),
        "launches_per_sample": ready.round.launches,
        "unwritten": ready.unwritten,
        "input_bytes": None if ready.launch_bytes is None else input_bytes(inputs),
        "launch_bytes": ready.launch_bytes,
        "swept": None if ready.round.swept is None else asdict(ready.round.swept),
    }


RunProcess = Callable[[Sequence[ArmSpec], int, Note, Send], Json]
"""(arms, process index, note, hand_over) to what run_process returns."""
