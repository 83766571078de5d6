"""Forged pages of Nsight Compute: other kernels, registers and times than were built and timed."""

import csv
import io
from typing import Any

from tests.cases.site import Site

PROFILE = "evidence/h100/profile/demo_sweep.bk32.json.gz"
NAME, TIME, REGISTERS = 1, 2, 3
"""Columns of the small report's page."""


def _rows(record: Any) -> list[list[str]]:
    return list(csv.reader(io.StringIO(record["raw_page"])))


def _put(record: Any, rows: list[list[str]]) -> None:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    record["raw_page"] = text.getvalue()


def page_of_kernel(site: Site, name: str, registers: str, told: bool = True) -> None:
    """Have the page be of another kernel; ``told``: with its registers among the metrics."""

    def change(record: Any) -> None:
        rows = _rows(record)
        rows[2][NAME], rows[2][REGISTERS] = name, registers
        _put(record, rows)
        record["kernel"] = name
        record["metrics"]["launch__registers_per_thread"] = float(registers)
        if not told:
            del record["metrics"]["launch__registers_per_thread"]

    site.edit(PROFILE, change)


def page_with_kernel(site: Site, name: str, nanoseconds: str) -> None:
    """Have the page hold a kernel more, which took so long."""

    def change(record: Any) -> None:
        rows = _rows(record)
        more = list(rows[2])
        more[NAME], more[TIME] = name, nanoseconds
        _put(record, [*rows, more])

    site.edit(PROFILE, change)
