"""stopwatch: order on the stream, warm-up by state, the lead of the slower side."""

import ctypes
import json
import os
import subprocess
import time
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from assay.device.tasks.benchmark import CHANGED, BenchmarkProcesses
from assay.device.timing import stopwatch as module
from assay.device.timing.bench_process import Bench, run_process
from assay.device.timing.stopwatch import (
    CudaStopwatch,
    Keep,
    Timing,
    settling_launches,
    turn_samples,
    warm_up,
)
from assay.device.worker.forks import run_child
from assay.device.worker.helper import Helper, load_helper
from assay.shared.limits import MAX_LEAD_MS, MAX_SAMPLES, MAX_SETTLING, lead_ms
from tests.device.helpers import SteadySensor, dense_workload, honest, make_arm, protocol

FAKE = r"""
#include <string.h>
static char lines[1 << 16];
static long made;
int refusal = 0; /* what cuCtxSynchronize returns */
void note(const char *line) { strcat(strcat(lines, line), "\n"); }
const char *noted(void) { return lines; }
long left(void) { return made; }
static void on(const char *line, long found, long wanted) { note(found == wanted ? line : "?"); }
int cuCtxGetCurrent(long *context) { *context = 7; return 0; }
int cuCtxRecordEvent(long context, long event) { on("record_all", context, 7); return 0; }
int cuCtxResetPersistingL2Cache(void) { note("reset"); return 801; }
int cuCtxSynchronize(void) { note("synchronize"); return refusal; }
int cuCtxWaitEvent(long context, long event) { on("hold_all", context, 7); return 0; }
int cuEventCreate(long *event, unsigned flags) { *event = ++made; return flags; }
int cuEventDestroy_v2(long event) { --made; return 0; }
int cuEventElapsedTime(float *ms, long start, long stop) { *ms = 0.5f * (stop - start); return 0; }
int cuEventRecord(long event, long stream) { on("event", stream, 9); return 0; }
int cuGetErrorString(int code, const char **text) { *text = "an illegal address"; return 0; }
int cuMemsetD8Async(long place, unsigned char value, long bytes, long stream)
{
    on("flush", bytes + stream, 2048 + 9);
    return value;
}
"""
"""A driver that writes down what it is asked for. Between two events that were made one after the
other lies half a millisecond."""


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    folder = tmp_path_factory.mktemp("driver")
    (folder / "fake.c").write_text(FAKE)
    made = folder / "fake.so"
    words = ["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", made, folder / "fake.c"]
    subprocess.run(["cc", *words], check=True)
    return made


@pytest.fixture(params=["compiled", "python"])
def way(request, tmp_path, monkeypatch):
    monkeypatch.setattr(Helper, "library", None)
    if request.param == "compiled":
        load_helper(tmp_path)
        assert Helper.library is not None, Helper.lacks
        assert list(tmp_path.iterdir()) == []
    return request.param


class OnFakeCuda:
    """What a forked child finds instead of CUDA: the tests' own process has none afterwards."""

    def __init__(self, driver):
        self.driver = ctypes.CDLL(str(driver))  # found by its name from now on
        self.driver.noted.restype = ctypes.c_char_p
        module.DEVICE = "cpu"
        stream = SimpleNamespace(cuda_stream=9)
        torch.cuda.current_stream = lambda: stream
        torch.cuda.stream = lambda given: self.named("stream", given is stream)
        torch.cuda._sleep = lambda cycles: self.note(f"sleep {cycles}")
        torch.cuda.get_device_properties = lambda index: SimpleNamespace(L2_cache_size=1024)

    def named(self, word, right):
        self.note(word if right else "?")
        return nullcontext()

    def note(self, text):
        self.driver.note(text.encode())

    def log(self):
        return self.driver.noted().decode().split()

    def launch(self):
        self.note("launch")
        return Copied(self)

    def turn(self, samples, *given, cold=True, counter=None, **named):
        """Take a turn; return what the driver was asked for during it, and the timing."""
        stopwatch = CudaStopwatch(cold, counter)
        before = len(self.log())
        timing = stopwatch.turn(self.launch, samples, *given, **named)
        return self.log()[before:], asdict(timing)


class Copied:
    """A tensor that writes down that it is copied over."""

    shape = (2, 3)

    def __init__(self, fake):
        self.fake = fake

    def copy_(self, other):
        self.fake.note("copy")


@pytest.mark.compiler
@pytest.mark.usefixtures("way")
class TestCudaStopwatch:
    @pytest.fixture
    def on_fake(self, driver):
        """Return what a function of OnFakeCuda returns in a child."""

        def run(work):
            outcome = run_child(lambda _note: {"found": work(OnFakeCuda(driver))}, 60.0)
            return outcome.value["found"] if outcome.value else outcome.error

        return run

    def test_order_of_a_cold_checked_turn(self, on_fake):
        def work(fake):
            counter = SimpleNamespace(
                stamp=lambda which: fake.note(f"stamp{which}"), read=lambda: 1755.0
            )
            keeps = [Keep(0, Copied(fake))]
            before = lambda number: fake.note(f"before{number}")  # noqa: E731
            return fake.turn(2, 1.5, before, keeps, counter=counter)

        log, timing = on_fake(work)
        sample = ["flush", "event", "launch", "event"]
        # The copy comes before the host waits: unfinished work elsewhere would be missing in it.
        assert log == [
            *("reset", "synchronize", "sleep", "3000000"),
            *("before0", *sample, "stream", "copy"),
            *("before1", "flush", "stamp0", *sample[1:], "stamp1", "synchronize"),
        ]
        assert (timing["times_ms"], timing["clock_mhz"]) == ([0.5, 0.5], 1755.0)
        assert 0 < timing["host_ms"] <= (timing["ended"] - timing["started"]) * 1e3

    def test_what_runs_beside_a_stranger_s_launches_is_held_and_timed(self, on_fake):
        """Before a checked one the GPU is empty, and nothing begins before it; all ends behind.
        Some launches are looked behind, and then the host gets ahead again.
        """

        def work(fake):
            strangers = {"lead_ms": 1.0, "look": lambda: fake.note("look")}
            checked = fake.turn(1, keeps=[Keep(0, Copied(fake))], **strangers)
            return [checked[0], *fake.turn(1, **strangers)]

        checked, other, timing = on_fake(work)
        wait = ["synchronize", "sleep", "2000000"]
        ended = ["look", *wait, "record_all", "event", "synchronize"]
        timed = ["flush", "event", "hold_all", "launch", "event", "stream", "copy"]
        assert checked == ["reset", *wait, *wait, *timed, *ended]
        assert other == ["reset", *wait, "flush", "event", "launch", "event", *ended]
        assert timing["after_ms"] == 0.5

    def test_a_warm_unchecked_turn_neither_flushes_nor_keeps(self, on_fake):
        log, timing = on_fake(lambda fake: fake.turn(1, cold=False))
        assert log == ["reset", "synchronize", "event", "launch", "event", "synchronize"]
        assert (timing["after_ms"], timing["number"]) == (0.0, -1)

    def test_one_of_all_launches_is_kept_where_none_is_named(self, on_fake):
        def work(fake):
            places = [torch.full((1,), -1.0) for _ in range(40)]
            for place in places:
                outputs = iter(torch.arange(3.0).split(1))
                launch = outputs.__next__
                CudaStopwatch(False).turn(launch, 3, keeps=[Keep(None, place)])
            return [place.item() for place in places]

        assert set(on_fake(work)) == {0.0, 1.0, 2.0}

    def test_what_the_driver_refuses_is_named(self, on_fake):
        def work(fake):
            ctypes.c_int.in_dll(fake.driver, "refusal").value = 700
            fake.turn(1)

        found = on_fake(work)
        assert found.startswith("RuntimeError")
        assert "cuCtxSynchronize" in found
        assert "700" in found

    def test_an_error_of_a_launch_is_its_own(self, on_fake):
        def work(fake):
            fake.launch = lambda: 1 / 0
            with pytest.raises(ZeroDivisionError):
                fake.turn(2)
            return fake.driver.left()

        assert on_fake(work) == 0


def patches():
    """Replace what timed launches in Python."""
    torch.cuda.Event = torch.cuda.synchronize = None
    time.monotonic = time.perf_counter = lambda: 0.0


def reads_other_times():
    honest = json.loads
    module.json = SimpleNamespace(loads=lambda text: {**honest(text), "times_ms": [0.1] * 3})


def remembers_other_times():
    Timing.taken = lambda self: {**asdict(self), "times_ms": [0.1] * 3}


def writes_a_turn_of_its_own():
    for path in Path("/proc/self/fd").iterdir():
        if path.is_socket():
            line = {"number": 0, "times_ms": [0.1] * 3}
            os.write(int(path.name), json.dumps(line).encode() + b"\n")


@pytest.mark.compiler
class TestStrangers:
    """Code that shares the process of the stopwatch, on the driver that takes 0.5 ms."""

    def measured(self, driver, tmp_path, monkeypatch, act, kind):
        monkeypatch.setattr(Helper, "library", None)
        load_helper(tmp_path)
        rules = protocol()
        acted = []

        def prepare(arm, inputs):
            bound = honest(arm, inputs)

            def launch():
                if arm.id == "ours" and not acted:
                    acted.append(1)
                    act()
                return bound.launch()

            return replace(bound, launch=launch)

        def run(arms, index, note, hand_over, alone):
            OnFakeCuda(driver)
            bench = Bench(
                rules,
                CudaStopwatch(False, None, hand_over),
                "cpu",
                prepare,
                note,
                hand_over=hand_over,
            )
            return run_process(arms, "theirs", f"c:{index}", bench)

        arms = [make_arm("ours", dense_workload(), kind), make_arm("theirs", dense_workload())]
        found = BenchmarkProcesses(
            arms, "theirs", rules, range(1), SteadySensor(), run, "c"
        ).measure()
        (process,) = found.processes
        turns = [turn for block in process["blocks"] for turn in block["turns"]]
        times = {time for turn in turns for time in turn["times_ms"]}
        assert all(0 <= turn["started_s"] <= turn["ended_s"] < 600 for turn in turns)
        return found.dropped, {turn["arm"] for turn in turns}, times

    def test_what_python_times_with_is_not_what_turns_are_timed_with(
        self, driver, tmp_path, monkeypatch
    ):
        found = self.measured(driver, tmp_path, monkeypatch, patches, "library")
        assert found == ({}, {"ours", "theirs", "control"}, {0.5})

    @pytest.mark.parametrize(
        "act", [reads_other_times, remembers_other_times, writes_a_turn_of_its_own]
    )
    def test_other_times_than_the_helper_s_are_seen(self, driver, tmp_path, monkeypatch, act):
        dropped, arms, times = self.measured(driver, tmp_path, monkeypatch, act, "callable")
        assert dropped == {"ours": CHANGED}
        assert (arms, times) == ({"theirs", "control"}, {0.5})


@pytest.mark.compiler
def test_the_helper_is_whole_where_files_in_use_stay_in_their_folder(tmp_path, monkeypatch):
    """As on NFS, which renames what is removed while it is in use."""
    remove = os.unlink

    def unlink(path, *, dir_fd=None):
        if str(path).endswith(".so"):
            os.rename(path, ".nfs1", src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
        else:
            remove(path, dir_fd=dir_fd)

    monkeypatch.setattr(Helper, "library", None)
    monkeypatch.setattr(os, "unlink", unlink)
    load_helper(tmp_path)
    assert Helper.library.assay_turn.restype is ctypes.py_object
    assert not any(path.is_dir() for path in tmp_path.iterdir())


def test_where_no_compiler_is_the_reason_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(Helper, "library", None)
    monkeypatch.setattr(Helper, "lacks", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    load_helper(tmp_path)
    assert Helper.library is None
    assert "compiler" in Helper.lacks


class Scripted:
    """A stopwatch whose batches take the scripted times; its clock advances with them."""

    def __init__(self, medians):
        self.medians = iter(medians)
        self.now = 0.0
        self.batches = 0

    def turn(self, launch, samples, lead_ms=0.0, before=None, keep=None):
        time_ms = next(self.medians)
        self.batches += 1
        self.now += time_ms * samples / 1e3
        return Timing([time_ms] * samples, 0.01)

    def clock(self):
        return self.now


@pytest.mark.parametrize(
    ("medians", "least_ms", "most_ms", "wanted"),
    [
        ([2.0, 1.5, 1.2, 1.0, 1.005, 7.0], 1.0, 1e6, (5, 5)),  # two medians agree
        ([1.0] * 100, 30.0, 1e6, (10, 11)),  # stable, and 30 ms of 3 ms batches
        ([1.0, 2.0] * 50, 1.0, 30.0, (1, 10)),  # never stable
    ],
)
def test_warm_up_ends_by_state_and_by_time(medians, least_ms, most_ms, wanted):
    stopwatch = Scripted(medians)
    rules = protocol(warmup_min_ms=least_ms, warmup_max_ms=most_ms, warmup_stable_fraction=0.01)
    warm_up(stopwatch, lambda: torch.empty(1), rules, stopwatch.clock)
    assert wanted[0] <= stopwatch.batches <= wanted[1]


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (lead_ms(0.05, 1.0, 10), 1.2 * 0.05 * 2),  # the GPU is slower: two launches
        (lead_ms(0.1, 0.02, 10), 1.2 * 0.1 * 10),  # the host is: the whole turn
        (lead_ms(50.0, 1.0, 10), MAX_LEAD_MS),
        (settling_launches(protocol(), 1.5), 0),
        (settling_launches(protocol(settle_ms=100.0), 1.6), 63),
        (settling_launches(protocol(settle_ms=100.0), 500.0), 1),
        (settling_launches(protocol(settle_ms=100.0), 0.001), MAX_SETTLING),
        (turn_samples(protocol(samples=10), 0.01), 10),
        (turn_samples(protocol(samples=10, turn_min_ms=40.0), 1.5), 27),
        (turn_samples(protocol(samples=10, turn_min_ms=40.0), 20.0), 10),
        (turn_samples(protocol(samples=10, turn_min_ms=40.0), 0.01), MAX_SAMPLES),
    ],
)
def test_leads_launches_and_samples_are_bounded(found, wanted):
    assert found == wanted
