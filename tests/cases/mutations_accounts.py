"""Forged benchmarks: what their processes say beside the samples: phases, errors, company."""

from collections.abc import Iterator
from typing import Any

from tests.cases.attack import Argument
from tests.cases.site import Site

BENCHMARK = "evidence/h100/benchmark/demo_sweep.json.gz"


def _turns(record: Any) -> Iterator[Any]:
    for process in record["processes"]:
        for block in process["blocks"]:
            yield from block["turns"]


def ran_under(site: Site, regimes: list[str]) -> None:
    """Have every block run under such limits."""

    def change(record: Any) -> None:
        for process in record["processes"]:
            for block in process["blocks"]:
                block["regimes"] = regimes

    site.edit(BENCHMARK, change)


def error_of_turns(site: Site, error: float | None, checked: bool) -> None:
    """Give an error to every turn that was checked, or to every other."""

    def change(record: Any) -> None:
        for turn in _turns(record):
            if turn["checked"] is checked:
                turn["relative_error"] = error

    site.edit(BENCHMARK, change)


def clock_of_one_arm(site: Site, arm: str) -> None:
    """Leave out the clock of an arm's turns, which would tell what they took."""
    site.edit(
        BENCHMARK,
        lambda r: [t.update(clock_mhz=None) for t in _turns(r) if t["arm"] == arm],
    )


def without_wall(site: Site) -> None:
    """Record no phases, as versions before did not."""
    site.edit(BENCHMARK, lambda r: [process.update(wall=None) for process in r["processes"]])


def phases(site: Site, phase: str, seconds: float, rest: bool = False) -> None:
    """Have a phase of every process take so long; ``rest``: and what lies between the less."""

    def change(record: Any) -> None:
        for process in record["processes"]:
            wall = process["wall"]
            wall["rest"] += wall[phase] - seconds if rest else 0
            wall[phase] = seconds

    site.edit(BENCHMARK, change)


def company(site: Site, name: str, value: Argument) -> None:
    """Have the benchmark say something else of who used the GPU before it."""
    site.edit(BENCHMARK, lambda record: record["exclusivity"].update({name: value}))


def company_on_purpose(site: Site) -> None:
    """Have the GPU be a shared one, and say so."""
    company(site, "other_processes", 1)
    company(site, "remark", "measured although the GPU was shared: 1 other process")


def company_unknown(site: Site) -> None:
    """Have nothing say who used the GPU, as versions before did not."""
    site.edit(BENCHMARK, lambda record: record.update(exclusivity=None))


def imports_took(site: Site, seconds: float) -> None:
    """Have the benchmark's imports take so long."""
    site.edit(BENCHMARK, lambda record: record.update(import_seconds=seconds))
