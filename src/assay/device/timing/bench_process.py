"""One benchmark process: prepare all arms, warm each up, take the planned turns."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass

from assay.device.kernels.drawn_inputs import make_inputs
from assay.device.kernels.inputs import Inputs
from assay.device.kernels.oracles import Errors
from assay.device.kernels.prepared import Prepare
from assay.device.timing.device_memory import MemoryWatch, input_bytes
from assay.device.timing.rounds import Rotating, Round, Single, Subject
from assay.device.timing.schedule import CONTROL, Slot, plan_blocks
from assay.device.timing.stopwatch import STILL_MS, CudaStopwatch, WarmUp, nothing, warm_up
from assay.device.worker.cuda import persisting_bytes, set_no_l2_aside
from assay.device.worker.forks import Note
from assay.device.worker.handover import Send
from assay.device.worker.harness_guard import HarnessGuard, changed_words
from assay.shared.launch_facts import launch_facts
from assay.shared.specs import ArmSpec, Json, ProtocolSpec

TIME_DIGITS = 6
"""Decimals kept of a time in ms: an event resolves about half a microsecond."""
Alone = Callable[[], AbstractContextManager[Sequence[float]]]
"""In it a process has the GPU to itself; gives the seconds for which it waited, once it is over."""


def _unshared() -> AbstractContextManager[Sequence[float]]:
    """Most processes have it all the time."""
    return nullcontext(())


NOT_WARM = WarmUp(0.0, 0, 0)


@dataclass(frozen=True)
class Bench:
    """The instruments and settings with which a process measures."""

    protocol: ProtocolSpec
    stopwatch: CudaStopwatch
    device: str
    prepare: Prepare
    note: Note
    l2_bytes: int = 0
    """For the buffers of a graph."""
    clock: Callable[[], float] = time.monotonic
    hand_over: Callable[[Json], object] = nothing
    """Called with each turn as it ends, {"turn", "wrong"}, behind what the stopwatch sent of it."""
    alone: Alone = _unshared
    """Held while anything is warmed up or timed."""


@dataclass
class _Bound:
    """An arm that was launched once, and then warmed up."""

    arm: ArmSpec
    round: Round
    launch_bytes: int | None
    """Device memory beside the inputs; None where many sets of buffers rotate."""
    warm: WarmUp = NOT_WARM


def _bind_all(arms: Sequence[ArmSpec], seed: str, bench: Bench) -> dict[str, _Bound]:
    """Prepare and launch all arms; arms of one workload share its tensors and its oracle."""
    fresh = _unwritten(arms, bench)
    memory = MemoryWatch(bench.device)
    subjects: dict[str, Subject] = {}
    rounds: list[tuple[ArmSpec, Round]] = []
    for arm in arms:
        bench.note(arm.id)
        name = arm.workload.id
        if name not in subjects:
            subjects[name] = _subject(arm, seed, bench, fresh.get(name))
        memory.start()
        rounds.append((arm, subjects[name].bind(arm, bench.prepare)))
        memory.bound(arm.id)
    bound = {}
    for arm, round_ in rounds:
        bench.note(arm.id)
        memory.start()
        bench.stopwatch.turn(round_.launch, 1, before=round_.before)  # compiles and loads
        memory.launched(arm.id)
        single = bench.protocol.timer == "events"
        kept = memory.launch_bytes(arm.id) if single else None
        bound[arm.id] = _Bound(arm, round_, kept)
    return bound


def _unwritten(arms: Sequence[ArmSpec], bench: Bench) -> dict[str, Inputs]:
    """Inputs that are never written, by workload: allocated before all else in this process, so
    that they lie in memory as the driver gave it, and in none that a tensor of ours left behind.
    """
    return {
        arm.workload.id: make_inputs(arm.workload, bench.device, arm.workload.seed)
        for arm in arms
        if not arm.workload.written
    }


def _subject(arm: ArmSpec, seed: str, bench: Bench, made: Inputs | None) -> Subject:
    """Return the tensors of a workload, ready to be launched on; ``made`` where they are there."""
    inputs = made or make_inputs(arm.workload, bench.device, arm.workload.seed)
    cold = bench.protocol.l2 == "cold"
    if bench.protocol.timer == "graph":
        return Rotating(inputs, f"{seed}:{arm.workload.id}", bench.l2_bytes, cold)
    return Single(inputs, f"{seed}:{arm.workload.id}")


def _take_turn(
    slot: Slot,
    bound: _Bound,
    source: random.Random,
    bench: Bench,
    wrong: dict[str, str],
    guard: HarnessGuard | None,
) -> Json:
    """Return one turn. A checked turn whose output is wrong is noted in ``wrong`` by arm id."""
    arm, round_, warm = bound.arm, bound.round, bound.warm
    checked = slot.checked and arm.workload.written
    if warm.settling:  # the state that turns get the GPU into
        # No launch of a turn has the number -1: none of these is one that is checked.
        bench.stopwatch.turn(round_.launch, warm.settling, before=lambda _: round_.before(-1))
    # Every draw is made whether the turn is checked or not: nothing tells a launch that it is.
    number, poisoned = source.randrange(warm.samples), source.random() < 0.5
    keeps = round_.start_turn(number if checked else None, warm.samples, poisoned)
    look = guard.look if guard is not None and round_.stranger else None
    timing = bench.stopwatch.turn(
        round_.launch, warm.samples, warm.lead_ms, round_.before, keeps, look, counts=True
    )
    found: list[Errors] = []
    if checked:
        found = round_.errors()
        for beyond in filter(None, (errors.beyond(arm.workload) for errors in found)):
            wrong[arm.id] = f"incorrect: the output of a timed launch is wrong ({beyond})"
    relative = [errors.relative for errors in found if errors.relative is not None]
    if (says := works_on(timing.after_ms)) and arm.id not in wrong:
        wrong[arm.id] = says
    return {
        "arm": slot.name,
        "of": arm.id,
        "taken": timing.taken(),
        "checked": checked,
        "relative_error": max(relative) if found and len(relative) == len(found) else None,
        "clock_mhz": timing.clock_mhz,
    }


def works_on(after_ms: float) -> str | None:
    """Return what is wrong where other streams had work for so long behind the timed one's."""
    if after_ms <= STILL_MS:
        return None
    after = f"another stream works on for {after_ms:.3f} ms"
    return f"incorrect: when the time of its launches has ended, {after}"


def _remarks(guard: HarnessGuard, set_aside: int | None) -> Iterator[str]:
    """Yield what a project's code did that is no cheat, but may make its times look better.

    ``set_aside``: the bytes of L2 that were set aside before the turns; None without a GPU.
    """
    if names := guard.set_anew():
        yield f"its code set {', '.join(names)}: the reference ran under that, too"
    if set_aside is not None and persisting_bytes() > set_aside:
        yield "its code sets L2 aside for persisting lines: launches of a turn may find their data"


def run_process(arms: Sequence[ArmSpec], control: str, seed: str, bench: Bench) -> Json:
    """Everything one process measures; of each turn, ``taken`` is what the stopwatch handed over.

    ``bench.note`` hears which arm is being run, so that the parent knows whose fault an error is.
    Raises GraphFailed where the protocol asks for graphs and an arm can't be captured.
    """
    strangers = [arm.id for arm in arms if arm.variant.kind == "callable"]
    guard = HarnessGuard(bench, *arms) if strangers else None
    ready = _bind_all(arms, seed, bench)  # their code was loaded, and has run
    set_aside = set_no_l2_aside() if strangers and bench.device != "cpu" else None
    wrong: dict[str, str] = {}
    with bench.alone() as waited:
        began = bench.clock()
        for each in ready.values():
            bench.note(each.arm.id)
            launch, before = each.round.launch, each.round.before
            each.warm = warm_up(bench.stopwatch, launch, bench.protocol, bench.clock, before)
        blocks = _take_turns(ready, control, seed, bench, wrong, guard, strangers)
        ended = bench.clock()
    return {
        "arms": [_arm_facts(each) for each in ready.values()],
        "blocks": blocks,
        "wrong": wrong,
        "timer": bench.protocol.timer,
        "remarks": list(_remarks(guard, set_aside)) if guard is not None else [],
        "span": (began, ended),
        "waited_s": sum(waited),
    }


def _take_turns(
    ready: dict[str, _Bound],
    control: str,
    seed: str,
    bench: Bench,
    wrong: dict[str, str],
    guard: HarnessGuard | None,
    strangers: Sequence[str],
) -> list[list[Json]]:
    """Return the turns of each block; what is wrong with arms is noted in ``wrong``."""
    ready = {**ready, **({CONTROL: ready[control]} if control in ready else {})}
    protocol, source = bench.protocol, random.Random(f"{seed}:checks")  # noqa: S311 - reproducible
    blocks = []
    for slots in plan_blocks(list(ready), protocol.blocks, protocol.checked_turns, seed):
        turns = []
        for slot in slots:
            bench.note(ready[slot.name].arm.id)
            turns.append(_take_turn(slot, ready[slot.name], source, bench, wrong, guard))
            # Now: a later launch might put it back. Which of them it was, nobody knows.
            if guard is not None and (changed := guard.changed()):
                wrong |= dict.fromkeys(strangers, f"incorrect: {changed_words(changed)}")
            bench.hand_over({"turn": turns[-1], "wrong": wrong})
        blocks.append(turns)
    return blocks


def _arm_facts(bound: _Bound) -> Json:
    """Return the ArmFacts record."""
    arm, inputs, swept = bound.arm, bound.round.inputs, bound.round.swept
    return {
        "arm": arm.id,
        "variant": arm.variant.id,
        "workload": arm.workload.id,
        **asdict(launch_facts(arm.workload, inputs.blocks, inputs.blocks_b)),
        "binary_sha256": arm.artifact.sha256 if arm.artifact else None,
        "launches_per_sample": bound.round.launches,
        "input_bytes": None if bound.launch_bytes is None else input_bytes(inputs),
        "launch_bytes": bound.launch_bytes,
        "swept": None if swept is None else asdict(swept),
    }


RunProcess = Callable[[Sequence[ArmSpec], int, Note, Send, Alone], Json]
"""(arms, process index, note, hand_over, alone) to what run_process returns."""
