"""Forged benchmarks: times, turns, blocks, processes, telemetry and facts of arms."""

from collections.abc import Callable, Iterator
from typing import Any

from assay.evidence.nsight_csv import DURATION
from assay.shared.schedule import CONTROL
from tests.cases.attack import Argument
from tests.cases.site import Site

BENCHMARK = "evidence/h100/benchmark/demo_sweep.json.gz"
CORRECTNESS = "evidence/h100/correctness/demo_sweep.json"
STOPWATCH = "evidence/h100/stopwatch/demo_sweep.json"
PROFILE = "evidence/h100/profile/demo_sweep.{}.json.gz"


def _processes(site: Site, change: Callable[[Any], Any]) -> None:
    """Forge each process of the benchmark."""
    site.edit(BENCHMARK, lambda record: [change(process) for process in record["processes"]])


def _turns(process: Any) -> Iterator[Any]:
    return (turn for block in process["blocks"] for turn in block["turns"])


def scale_samples(
    site: Site, factor: float, sums: bool = False, beside: bool = False, arm: str | None = None
) -> None:
    """Make every sample faster, or those of one arm and its control.

    ``sums``: with the sums of launches along; ``beside``: with all other stopwatches, too.
    """

    def change(process: Any) -> None:
        saved = 0.0
        for turn in _turns(process):
            if arm is None or turn["arm"] in (arm, CONTROL):
                saved += (1 - factor) * sum(turn["times_ms"])
                turn["times_ms"] = [round(ms * factor, 6) for ms in turn["times_ms"]]
        if sums:
            process["gpu_seconds"] -= saved / 1e3

    _processes(site, change)
    if beside:
        site.edit(STOPWATCH, lambda record: _scale_stopwatches(record, factor))
        site.edit(PROFILE.format("bk32"), lambda record: _scale_profile(record, factor))


def _scale_stopwatches(record: Any, factor: float) -> None:
    for each in record["arms"]:
        for name in ("events_median_ms", "nvbench_cold_ms"):
            each[name] *= factor


def _scale_profile(record: Any, factor: float) -> None:
    before = record["metrics"][DURATION]
    record["metrics"][DURATION] = before * factor
    record["raw_page"] = record["raw_page"].replace(str(before), str(before * factor))


def set_of_processes(site: Site, name: str, value: Argument) -> None:
    """Give each process another value of a field."""
    _processes(site, lambda process: process.update({name: value}))


def set_of_record(site: Site, name: str, value: Argument) -> None:
    """Give the benchmark another value of a field."""
    site.edit(BENCHMARK, lambda record: record.update({name: value}))


def set_of_arms(site: Site, name: str, value: Argument, gate: bool = False) -> None:
    """Give the facts of all arms another value; ``gate``: those that the gate recorded, too."""
    _processes(site, lambda process: [arm.update({name: value}) for arm in process["arms"]])
    if gate:
        site.edit(CORRECTNESS, lambda r: [arm.update({name: value}) for arm in r["arms"]])


def drop(site: Site, what: str) -> None:
    """Leave out what is unwelcome, everywhere: of blocks, turns, processes or samples."""

    def change(process: Any) -> None:
        if what == "first block":
            del process["blocks"][0]
        for block in process["blocks"] if what == "mirrored half" else ():
            block["turns"] = block["turns"][: len(block["turns"]) // 2]
        for turn in _turns(process) if what == "slowest samples" else ():
            turn["times_ms"] = sorted(turn["times_ms"])[:-1]
        for turn in list(_turns(process))[:1] if what == "one sample" else ():
            turn["times_ms"].pop()

    if what == "last process":
        site.edit(BENCHMARK, lambda record: record["processes"].pop())
    elif what == "all processes":
        site.edit(BENCHMARK, lambda record: record["processes"].clear())
    else:
        _processes(site, change)


def double_the_blocks(site: Site) -> None:
    """Have each process hold its blocks twice."""
    _processes(site, lambda process: process["blocks"].extend(process["blocks"]))


def drop_an_arm(site: Site, arm: str, reason: str | None) -> None:
    """Leave out an unwelcome arm's samples; ``reason``: with a reason why it was not timed."""

    def change(record: Any) -> None:
        if reason is not None:
            record["not_timed"] = {arm: reason}
        for process in record["processes"]:
            process["arms"] = [each for each in process["arms"] if each["arm"] != arm]
            for block in process["blocks"]:
                block["turns"] = [turn for turn in block["turns"] if turn["arm"] != arm]

    site.edit(BENCHMARK, change)


def protocol_of_their_own(site: Site, name: str) -> None:
    """Name another protocol, which the configuration holds as well."""
    path = site.evidence / "config" / "protocols.yaml"
    text = path.read_text()
    path.write_text(text + text.split("protocols:\n")[1].replace("standard", name))
    set_of_record(site, "protocol", name)
