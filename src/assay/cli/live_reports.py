"""Reports that are verified one after another: what is done, and how far it is.

At a terminal one line is kept up to date, and is gone once all are read: then a line says how many
verified. Without a terminal each report is told by a plain line when it is read.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.text import Text

from assay.base.check_log import NamedCheck
from assay.base.printable import shown_line
from assay.base.progress import say
from assay.cli.tables import is_terminal
from assay.findings.given_report import GivenReport
from assay.shared.counting import counted
from assay.verification.verify import VerificationLog

TAKES = (
    "a report that was not verified before is judged again from its samples, which takes seconds"
)
SHORT = 12
"""Characters of a key's digest in the last line."""


def nothing() -> None:
    """Draw nothing."""


class ReportsUnderWay:
    """What of some reports is read so far, and which one is being verified."""

    def __init__(self, total: int, *, live: bool) -> None:
        self.total, self.live = total, live
        self.redraw: Callable[[], None] = nothing
        """Draws the live line anew, where there is one."""
        self.read: list[GivenReport] = []
        self._name, self._since, self._checks = "", time.monotonic(), 0
        self._announced = False

    def next(self, name: str) -> None:
        """Take up that a report is looked at."""
        self._name, self._since, self._checks = name, time.monotonic(), 0

    def begun(self, log: VerificationLog) -> None:
        """Take up that it has to be verified."""
        log.tell = self._see
        self.redraw()

    def ended(self, report: GivenReport) -> None:
        """Take up a report that is read; tell it where no live line does, or where it is bad."""
        self.read.append(report)
        if not self.live:
            earlier = " (verified before, and unchanged since)" if report.kept else ""
            say(f"{report.name}: {report.note}{earlier}")
        elif not report.verified:
            say(f"{report.name}: {report.note}")

    def summary(self) -> str:
        """Return how many verified, who signed them, and how many were verified before."""
        held = [report for report in self.read if report.verified]
        signers = dict.fromkeys(f"{r.signer} ({r.keyid[:SHORT]})" for r in held if r.keyid)
        by = f", signed by {' and '.join(signers)}" if signers else ""
        kept = sum(report.kept for report in held)
        earlier = f"; {kept} of them verified before, and unchanged since" if kept else ""
        other = sum(report.intact and not report.judged for report in self.read)
        intact = f"; {other} intact, of other rules" if other else ""
        return f"{len(held)} of {counted(len(self.read), 'report')} verified{by}{earlier}{intact}"

    def line(self) -> str:
        """Return what is done now, and how far it is; nothing before the first report."""
        if not self._name:
            return ""
        made = f"{counted(self._checks, 'check')} made, " if self._checks else ""
        took = f"{time.monotonic() - self._since:.0f} s"
        number = min(len(self.read) + 1, self.total)
        return f"verifying report {number} of {self.total}, {self._name}: {made}{took}"

    def _see(self, _: NamedCheck) -> None:
        """Take up a check; without a terminal the first one announces what is under way."""
        self._checks += 1
        if not (self.live or self._announced):
            self._announced = True
            say(f"verifying {counted(self.total, 'report')}: {TAKES}")


class _LiveLine:
    """The line of what is under way, drawn anew whenever it is asked for."""

    def __init__(self, screen: Console, reports: ReportsUnderWay) -> None:
        self._screen, self._reports = screen, reports

    def __rich__(self) -> Text:
        return Text(shown_line(self._reports.line())[: self._screen.width - 1])


@contextmanager
def reports_shown(screen: Console, total: int) -> Iterator[ReportsUnderWay]:
    """Yield what takes up reports as they are read, and shows them on ``screen``."""
    reports = ReportsUnderWay(total, live=is_terminal(screen))
    if not reports.live:
        yield reports
        return
    with Live(
        _LiveLine(screen, reports),
        console=screen,
        refresh_per_second=2,
        redirect_stdout=False,
        transient=True,
    ) as line:
        reports.redraw = line.refresh
        yield reports
    if reports.read:
        say(reports.summary())
