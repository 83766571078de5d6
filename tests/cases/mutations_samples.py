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


def scale_a_stopwatch(site: Site, factor: float) -> None:
    """Have the second stopwatch see other times than the samples."""
    site.edit(STOPWATCH, lambda record: _scale_stopwatches(record, factor))


def scale_the_profile(site: Site, factor: float) -> None:
    """Have Nsight Compute see another time than the samples."""
    site.edit(PROFILE.format("bk32"), lambda record: _scale_profile(record, factor))


def nsight_in_other_units(site: Site, unit: str) -> None:
    """Have Nsight Compute's times be in a unit of one's own, on its page as well."""

    def change(record: Any) -> None:
        if record["raw_page"]:
            record["units"].update({DURATION: unit})
            record["raw_page"] = record["raw_page"].replace('"ns"', f'"{unit}"')

    for path in sorted((site.evidence / "h100" / "profile").iterdir()):
        site.edit(path.relative_to(site.report).as_posix(), change)


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


def swap_arms(site: Site, one: str, other: str, gpu: bool = False) -> None:
    """Give two arms each other's turns; ``gpu``: and leave the order of turns as it must be."""
    names = {one: other, other: one}

    def rename(process: Any) -> None:
        for turn in _turns(process):
            turn["arm"] = names.get(turn["arm"], turn["arm"])

    def exchange(process: Any) -> None:
        times = {name: [t["times_ms"] for t in _turns(process) if t["arm"] == name]
                 for name in names}  # fmt: skip
        for turn in _turns(process):
            if turn["arm"] in names:
                turn["times_ms"] = times[names[turn["arm"]]].pop(0)

    _processes(site, exchange if gpu else rename)


def clone_a_process(site: Site, dealt_out: bool = False) -> None:
    """Put the first process in the place of others, as it is.

    ``dealt_out``: only in the second's, its samples in the order in which that has its turns.
    """

    def change(record: Any) -> None:
        first, second = record["processes"][:2]
        if not dealt_out:
            record["processes"] = [{**first, "index": number} for number in range(5)]
            return
        left: dict[str, list[Any]] = {}
        for turn in _turns(first):
            left.setdefault(turn["arm"], []).append(turn["times_ms"])
        for turn in _turns(second):
            turn["times_ms"] = left[turn["arm"]].pop()
        second["gpu_seconds"] = first["gpu_seconds"]

    site.edit(BENCHMARK, change)


def clone_telemetry(site: Site) -> None:
    """Give two processes one telemetry, void blocks along."""

    def change(record: Any) -> None:
        first, third = record["processes"][0], record["processes"][2]
        third["telemetry"] = first["telemetry"]

    site.edit(BENCHMARK, change)


def void_blocks(site: Site, reason: str | None, which: str = "all") -> None:
    """Void blocks at will, or none: ``all`` of them, or the ``last`` of each process."""

    def change(process: Any) -> None:
        blocks = process["blocks"] if which == "all" else process["blocks"][-1:]
        for block in blocks:
            block["void"] = reason

    _processes(site, change)


def clear_telemetry(site: Site) -> None:
    """Have the telemetry show no clock event, and every block count."""

    def change(process: Any) -> None:
        telemetry = process["telemetry"]
        telemetry["event_reasons"] = [reasons & 0x04 for reasons in telemetry["event_reasons"]]
        for block in process["blocks"]:
            block["void"] = None

    _processes(site, change)


def heat_made_up(site: Site) -> None:
    """Have telemetry show heat in each process, and every block void for it but the first."""

    def change(process: Any) -> None:
        telemetry, first = process["telemetry"], process["blocks"][0]
        ended = max(turn["ended_s"] for turn in first["turns"])
        telemetry["event_reasons"] = [
            reasons & 0x04 | 0x20 * (at > ended + 0.026)
            for at, reasons in zip(telemetry["at_s"], telemetry["event_reasons"], strict=True)
        ]
        for block in process["blocks"]:
            began = min(turn["started_s"] for turn in block["turns"])
            last = max(turn["ended_s"] for turn in block["turns"])
            hot = any(
                reasons & 0x20 and began - 0.025 <= at <= last + 0.025
                for at, reasons in zip(telemetry["at_s"], telemetry["event_reasons"], strict=True)
            )
            block["void"] = "software thermal slowdown" if hot else None

    _processes(site, change)


def clock_of_turns(site: Site, mhz: float) -> None:
    """Have every turn run at such a clock."""
    _processes(site, lambda process: [turn.update(clock_mhz=mhz) for turn in _turns(process)])


def clock_of_telemetry(site: Site, mhz: int) -> None:
    """Have all telemetry show such a clock."""

    def change(process: Any) -> None:
        telemetry = process["telemetry"]
        telemetry["clock_sm_mhz"] = [mhz] * len(telemetry["at_s"])

    _processes(site, change)


def shorten_telemetry(site: Site, column: str) -> None:
    """Leave out the last value of one column of telemetry."""
    _processes(site, lambda process: process["telemetry"][column].pop())


def shift_turns(site: Site, seconds: float) -> None:
    """Have every turn later."""

    def change(process: Any) -> None:
        for turn in _turns(process):
            turn["started_s"] += seconds
            turn["ended_s"] += seconds

    _processes(site, change)


def shrink_turns(site: Site) -> None:
    """Have every turn end before it began."""

    def change(process: Any) -> None:
        for turn in _turns(process):
            turn["ended_s"] = turn["started_s"] - 0.01

    _processes(site, change)


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


def check_every_turn(site: Site) -> None:
    """Say that each turn's output was compared, which was never planned."""

    def change(process: Any) -> None:
        for turn in _turns(process):
            turn.update(checked=True, relative_error=1e-4)

    _processes(site, change)


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


def make_up_samples(site: Site) -> None:
    """Make up every sample, near those that were, with fitting sums."""

    def change(process: Any) -> None:
        before = sum(sum(turn["times_ms"]) for turn in _turns(process))
        for number, turn in enumerate(_turns(process)):
            turn["times_ms"] = [
                round(ms * (1 + 1e-3 * ((number * 7 + place * 3) % 5 - 2)), 6)
                for place, ms in enumerate(turn["times_ms"])
            ]
        after = sum(sum(turn["times_ms"]) for turn in _turns(process))
        process["gpu_seconds"] += (after - before) / 1e3

    _processes(site, change)


def protocol_of_their_own(site: Site, name: str) -> None:
    """Name another protocol, which the configuration holds as well."""
    path = site.evidence / "config" / "protocols.yaml"
    text = path.read_text()
    path.write_text(text + text.split("protocols:\n")[1].replace("standard", name))
    set_of_record(site, "protocol", name)
