"""Forged benchmarks: errors that their turns say they have."""

from collections.abc import Iterator
from typing import Any

from tests.cases.site import Site

BENCHMARK = "evidence/h100/benchmark/demo_sweep.json.gz"


def _turns(record: Any) -> Iterator[Any]:
    for process in record["processes"]:
        for block in process["blocks"]:
            yield from block["turns"]


def error_of_turns(site: Site, error: float | None, checked: bool) -> None:
    """Give an error to every turn that was checked, or to every other."""

    def change(record: Any) -> None:
        for turn in _turns(record):
            if turn["checked"] is checked:
                turn["relative_error"] = error

    site.edit(BENCHMARK, change)
