"""bench_process and benchmark_run: a whole record, measured on the CPU."""

import os
import signal
import sys
import time
from contextlib import nullcontext
from functools import partial

import pytest
import torch

from assay.device.kernels.oracles import oracle
from assay.device.kernels.prepared import Prepared
from assay.device.tasks import benchmark
from assay.device.tasks.benchmark import (
    BenchmarkProcesses,
    TimedProcesses,
    benchmark_record,
    run_benchmark,
)
from assay.device.timing.stopwatch import nothing
from assay.device.worker.telemetry import Choice
from assay.shared.errors import NoContext
from assay.shared.specs import CodeSpec
from tests import jobs
from tests.device.helpers import (
    SteadyGpu,
    SteadySensor,
    bsr_workload,
    dense_workload,
    gradient_workload,
    honest,
    make_arm,
    protocol,
    timed,
)

CHOICE = Choice(0, "GPU-0000-0", "NVIDIA H100 80GB HBM3")
unshared = partial(nullcontext, ())
ARMS = (make_arm("ours", bsr_workload()), make_arm("theirs", dense_workload()))


def runner(prepare=honest, rules=None):
    def run(arms, index, note, hand_over=nothing, alone=unshared):
        told = {"note": note, "hand_over": hand_over, "alone": alone}
        return timed(arms, "theirs", f"c:{index}", prepare, rules, **told)

    return run


def samples(turns):
    return sum(len(turn["taken"]["times_ms"]) for turn in turns)


def measure(prepare=honest, sensor=None, arms=ARMS, rules=None, at_once=2):
    rules, sensor = rules or protocol(), sensor or SteadySensor()
    told = (rules, range(2), sensor, runner(prepare, rules), "c", None, at_once)
    return BenchmarkProcesses(arms, "theirs", *told).measure()


class TestWholeRecord:
    def test_satisfies_the_model(self, validated):
        measured = measure()
        record = benchmark_record("c", "h100", CHOICE, "quick", measured.dropped)
        record["processes"] = measured.processes
        benchmark = validated("BenchmarkRecord", record)
        assert benchmark.not_timed == {}
        assert [process.index for process in benchmark.processes] == [0, 1]
        for process in benchmark.processes:
            assert len(process.blocks) == 2
            assert {facts.arm for facts in process.arms} == {"ours", "theirs"}
            for block in process.blocks:
                names = [turn.arm for turn in block.turns]
                assert names == names[::-1]
                assert sorted(set(names)) == ["control", "ours", "theirs"]
                assert block.void is None
                assert all(len(turn.times_ms) == 3 for turn in block.turns)
            turns = [turn for block in process.blocks for turn in block.turns]
            checked = [turn for turn in turns if turn.checked]
            assert sorted(turn.arm for turn in checked) == ["control", "ours", "theirs"]
            assert all(0 <= turn.relative_error < 1e-3 for turn in checked)

    def test_what_settles_the_clock_is_launched_and_not_counted(self):
        numbers = []

        def counting(arm, inputs):
            out = inputs.new_output()

            def launch():
                numbers.append(arm.id)
                return out.copy_(oracle(inputs))

            return Prepared(launch, out)

        short = runner(counting)(ARMS, 0, lambda _: None)
        launched = len(numbers)
        long = runner(counting, protocol(settle_ms=20.0))(ARMS, 0, lambda _: None)
        assert len(numbers) - launched > launched
        counts = [sum(map(samples, process["blocks"])) for process in (short, long)]
        assert counts[0] == counts[1]
        assert long["wrong"] == {}

    def test_thermal_event_voids_blocks_and_a_power_cap_does_not(self):
        hot = measure(sensor=SteadySensor(0x20))
        assert {block["void"] for p in hot.processes for block in p["blocks"]} == {
            "software thermal slowdown"
        }
        capped = measure(sensor=SteadySensor(0x4))
        assert {block["void"] for p in capped.processes for block in p["blocks"]} == {None}
        assert capped.processes[0]["telemetry"]["event_reasons"][0] == 4


@pytest.mark.parametrize(("of_project", "first"), [(True, 0), (True, 2), (False, 0)])
def test_a_projects_control_is_timed_alone_once(monkeypatch, of_project, first):
    asked = []

    def measured(_comparison, arms, _protocol, numbers, _gpu):
        asked.append([arm.id for arm in arms])
        return TimedProcesses([{"index": number} for number in numbers], {})

    monkeypatch.setattr(benchmark, "_measure", measured)
    code = CodeSpec("case.py", "case", {}) if of_project else None
    arms = [make_arm(name, dense_workload(code=code)) for name in ("theirs", "ours")]
    job = jobs.benchmark(*arms, first=first, processes=first + 2, timed=("theirs", "ours"))
    record = run_benchmark(job, SteadyGpu())
    alone = of_project and first == 0
    assert asked == [["theirs", "ours"], *([["theirs"]] if alone else [])]
    assert record.get("alone") == ({"index": 0} if alone else None)
    assert [process["index"] for process in record["processes"]] == [first, first + 1]


@pytest.mark.parametrize("stale", [(), (0,), (1,), (2,)])
def test_a_gradient_of_an_earlier_launch_is_caught_in_a_timed_one(stale):
    def prepare(arm, inputs):
        kept = []

        def launch():
            found = inputs.gradients(oracle(inputs).to(inputs.dtype))
            kept[:] = kept or [each.clone() for each in found]
            return tuple(kept[n] if n in stale else each for n, each in enumerate(found))

        return Prepared(launch, None, arranged=inputs.joined)

    arms = (make_arm("theirs", gradient_workload()),)
    result = runner(prepare, protocol(checked_turns=1.0, blocks=4))(arms, 0, lambda _: None)
    errors = [turn["relative_error"] for block in result["blocks"] for turn in block]
    if not stale:
        assert result["wrong"] == {}
        assert all(0 < error < 5e-3 for error in errors)
    else:
        assert result["wrong"]["theirs"].startswith("incorrect: the output of a timed launch")


def held_by_process():
    """Return what ``_take_turns`` holds, as code that it calls finds it."""
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_name != "_take_turns":
        frame = frame.f_back
    return frame.f_locals if frame is not None else {}


def halve_times(held):
    for turns in held.get("blocks", ()):
        for turn in turns:
            turn["taken"]["times_ms"] = [time / 2 for time in turn["taken"]["times_ms"]]


def forget_wrong(held):
    held.get("wrong", {}).clear()


def add_turn(held):
    if len(held.get("turns", "##")) < 2:
        bench = held["bench"]
        taken = bench.stopwatch.turn(lambda: None, 3, counts=True).taken()
        found = dict.fromkeys(("relative_error", "clock_mhz"))
        turn = {"arm": "ours", "of": "ours", "taken": taken, "checked": False, "settled_ms": 0.0}
        held["turns"].append({**turn, **found})
        bench.hand_over({"turn": held["turns"][-1], "wrong": {}})


def relabel(held):
    if "slot" in held:
        object.__setattr__(held["slot"], "name", "theirs")


@pytest.mark.parametrize(
    ("cheat", "right", "says"),
    [
        (add_turn, True, "times were changed after they had been taken"),
        (relabel, True, "times were changed after they had been taken"),
        (halve_times, True, "times were changed after they had been taken"),
        (forget_wrong, False, "the output of a timed launch is wrong"),
        (lambda held: None, True, None),
    ],
)
def test_what_a_turn_found_can_be_changed_in_memory_alone(cheat, right, says):
    def prepare(arm, inputs):
        bound = honest(arm, inputs)
        if arm.id != "ours":
            return bound

        def launch():
            cheat(held_by_process())
            out = bound.launch()
            return out if right or held_by_process().get("blocks") else out.mul_(2)

        return Prepared(launch, None)

    arms = (make_arm("ours", dense_workload(), "callable"), ARMS[1])
    measured = measure(prepare, arms=arms, rules=protocol(checked_turns=1.0))
    assert (says in measured.dropped["ours"]) if says else (measured.dropped == {})
    assert "theirs" not in measured.dropped


@pytest.mark.parametrize("claimed", [-1e9, 1e9])
def test_turns_lie_in_their_telemetry_whatever_their_process_says(claimed):
    honest_run = runner()

    def run(*told):
        return {**honest_run(*told), "span": (claimed, claimed)}

    rules = protocol(telemetry_interval_ms=5)
    found = BenchmarkProcesses(ARMS, "theirs", rules, range(1), SteadySensor(), run, "c").measure()
    (process,) = found.processes
    turns = [turn for block in process["blocks"] for turn in block["turns"]]
    at_s = process["telemetry"]["at_s"]
    assert min(turn["started_s"] for turn in turns) >= 0
    assert max(turn["ended_s"] for turn in turns) <= at_s[-1]


def only(measured, name):
    """Every process holds samples of ``name`` (and its control) and of nothing else."""
    return all(
        {turn["arm"] for block in process["blocks"] for turn in block["turns"]} == name
        and {facts["arm"] for facts in process["arms"]} == name - {"control"}
        for process in measured.processes
    )


def lack_room():
    raise torch.OutOfMemoryError("CUDA out of memory")


def find_the_gpu_taken():
    raise NoContext("busy or unavailable")


def hang():
    time.sleep(60)


def prepare_with(fails, folder):
    """What binds arms, but fails in the second process."""

    def prepare(arm, inputs):
        (folder / str(os.getpid())).touch()
        if len(list(folder.iterdir())) == 2:
            fails()
        return honest(arm, inputs)

    return prepare


@pytest.mark.parametrize("fails", [lack_room, find_the_gpu_taken, hang])
def test_processes_of_which_one_fails_beside_another_are_started_alone(
    tmp_path, monkeypatch, fails
):
    monkeypatch.setattr(benchmark, "DEADLINE_S", 6.0)
    measured = measure(prepare_with(fails, tmp_path))
    assert len(measured.processes) == 2
    assert measured.dropped == {}


def test_a_process_that_lacks_room_alone_loses_its_arm(tmp_path):
    assert set(measure(prepare_with(lack_room, tmp_path), at_once=1).dropped) == {"ours"}


def test_a_process_that_gets_no_gpu_alone_ends_the_job(tmp_path):
    with pytest.raises(NoContext):
        measure(prepare_with(find_the_gpu_taken, tmp_path), at_once=1)


class TestFailures:
    @pytest.mark.parametrize("at_once", [1, 2])
    def test_arm_that_raises_is_dropped_and_the_others_measured(self, at_once):
        def prepare(arm, inputs):
            if arm.id == "ours":
                raise RuntimeError("CUDA error: an illegal memory access was encountered")
            return honest(arm, inputs)

        measured = measure(prepare, at_once=at_once)
        assert "illegal memory access" in measured.dropped["ours"]
        assert len(measured.processes) == 2
        assert only(measured, {"theirs", "control"})

    def test_arm_that_kills_its_process_is_found_by_its_note(self):
        def prepare(arm, inputs):
            prepared = honest(arm, inputs)
            if arm.id == "theirs":
                return Prepared(lambda: os.kill(os.getpid(), signal.SIGKILL), prepared.buffer)
            return prepared

        measured = measure(prepare)
        assert measured.dropped == {"theirs": "failed: died of SIGKILL"}
        assert only(measured, {"ours"})
