"""One benchmark process: prepare all arms, warm each up, take the planned turns."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from assay.device.correctness import Prepare
from assay.device.facts import launch_facts
from assay.device.inputs import Inputs, Tensor, make_inputs
from assay.device.jobs import ArmSpec, Json, Protocol
from assay.device.oracles import measure_errors, oracle
from assay.device.prepared import Prepared
from assay.device.schedule import CONTROL, Slot, plan_blocks
from assay.device.stopwatch import Stopwatch, WarmUp, warm_up
from assay.device.zygote import Note

TIME_DIGITS = 6
"""Decimals kept of a time in ms: an event resolves about half a microsecond."""


@dataclass(frozen=True)
class _Ready:
    """An arm that is warm."""

    arm: ArmSpec
    inputs: Inputs
    prepared: Prepared
    oracle: Tensor
    warm: WarmUp


def _make_ready(
    arms: Sequence[ArmSpec],
    protocol: Protocol,
    stopwatch: Stopwatch,
    device: str,
    prepare: Prepare,
    note: Note,
) -> dict[str, _Ready]:
    """Prepare and warm up all arms; arms of one workload share its tensors and its oracle."""
    shared: dict[str, tuple[Inputs, Tensor]] = {}
    bound: list[tuple[ArmSpec, Prepared]] = []
    for arm in arms:
        note(arm.id)
        name = arm.workload.id
        if name not in shared:
            inputs = make_inputs(arm.workload, device, arm.workload.seed)
            shared[name] = inputs, oracle(inputs)
        bound.append((arm, prepare(arm, shared[name][0])))
    ready = {}
    for arm, prepared in bound:
        note(arm.id)
        warm = warm_up(stopwatch, prepared.launch, protocol)
        ready[arm.id] = _Ready(
            arm, shared[arm.workload.id][0], prepared, shared[arm.workload.id][1], warm
        )
    return ready


def _take_turn(
    slot: Slot, ready: _Ready, samples: int, stopwatch: Stopwatch, wrong: dict[str, str]
) -> Json:
    """One turn. A checked turn whose output is wrong is noted in ``wrong`` by arm id."""
    started = time.monotonic()
    poison = ready.prepared.poison if slot.checked else None
    timing = stopwatch.turn(ready.prepared.launch, samples, ready.warm.lead_ms, poison)
    ended = time.monotonic()
    relative = None
    if timing.output is not None:
        errors = measure_errors(timing.output, ready.oracle)
        relative = errors.relative
        if not errors.within(ready.arm.workload):
            measured = f"relative error {relative:.3g}" if relative is not None else "not finite"
            wrong[ready.arm.id] = f"incorrect: the output of a timed launch is wrong ({measured})"
    return {
        "arm": slot.name,
        "times_ms": [round(ms, TIME_DIGITS) for ms in timing.times_ms],
        "started": started,
        "ended": ended,
        "checked": slot.checked,
        "relative_error": relative,
    }


def run_process(
    arms: Sequence[ArmSpec],
    control: str,
    protocol: Protocol,
    seed: str,
    stopwatch: Stopwatch,
    device: str,
    prepare: Prepare,
    note: Note,
) -> Json:
    """Everything one process measures; times of turns are on the monotonic clock.

    ``note`` hears which arm is being run, so that the parent knows whose fault an error is.
    """
    ready = _make_ready(arms, protocol, stopwatch, device, prepare, note)
    names = [arm.id for arm in arms]
    if control in ready:
        ready[CONTROL] = ready[control]
        names.append(CONTROL)
    wrong: dict[str, str] = {}
    blocks = []
    for slots in plan_blocks(names, protocol.blocks, protocol.checked_turns, seed):
        turns = []
        for slot in slots:
            note(ready[slot.name].arm.id)
            turns.append(_take_turn(slot, ready[slot.name], protocol.samples, stopwatch, wrong))
        blocks.append(turns)
    timed_ms = sum(sum(turn["times_ms"]) for turns in blocks for turn in turns)
    warm_ms = sum(ready[arm.id].warm.gpu_ms for arm in arms)
    return {
        "arms": [_arm_facts(ready[arm.id]) for arm in arms],
        "blocks": blocks,
        "wrong": wrong,
        "gpu_seconds": (timed_ms + warm_ms) / 1e3,
    }


def _arm_facts(ready: _Ready) -> Json:
    """The ArmFacts record."""
    arm, inputs = ready.arm, ready.inputs
    return {
        "arm": arm.id,
        "variant": arm.variant.id,
        "workload": arm.workload.id,
        **asdict(launch_facts(arm.workload, inputs.blocks, inputs.blocks_b)),
        "binary_sha256": arm.artifact.sha256 if arm.artifact else None,
        "warmup_ms": round(ready.warm.gpu_ms, TIME_DIGITS),
    }


RunProcess = Callable[[Sequence[ArmSpec], int, Note], Json]
"""(arms, process index, note) to what run_process returns."""
