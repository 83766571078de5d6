"""Who measured figures again: other signers, other cards, and whether their verdicts agree. Pure.

A signature proves who says what. That times are true only measuring again shows, best by others.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from assay.findings.claim_history import HistoryLine
from assay.records.report_figures import ReportFigure, ReportMachine
from assay.records.verdicts import Verdict, VerdictsFile
from assay.shared.counting import counted


@dataclass(frozen=True)
class Measurement:
    """A figure as one run measured it."""

    figure: tuple[object, ...]
    """Claim, target, and what is claimed: another number is another figure."""
    verdict: tuple[object, ...]
    run: tuple[str, str]
    """Card, and when it was recorded: a report that was copied, and one that took the figure over
    from another, have the same."""
    signer: str
    rules: int
    """Version of the rules that judged."""

    @property
    def card(self) -> str:
        """Return the UUID of the GPU."""
        return self.run[0]


@dataclass(frozen=True)
class Replication:
    """How often figures were measured again."""

    signers: int
    cards: int
    measurements: int
    verdicts: int
    """Of these measurements, by the rules that judged the figures."""
    agree: int
    """Of these verdicts how many are that of the figure."""

    @property
    def says(self) -> str:
        """Return it in words, after 'by' and who."""
        cards = f"on {counted(self.cards, 'other card')}"
        if not self.verdicts:
            return f"{cards}, judged by other rules"
        return (
            f"{cards}, {self.agree} of {counted(self.verdicts, 'verdict')} by the same rules agree"
        )


def measured_by(signer: str, verdicts: VerdictsFile) -> list[Measurement]:
    """Return what a report's verdicts rest on."""
    return [
        Measurement(
            _figure(verdict), _verdict(verdict), (on.uuid, on.recorded_at), signer, verdicts.rules
        )
        for verdict in verdicts.verdicts
        if (on := verdict.measured_on) is not None and verdict.measured is not None
    ]


def in_report(
    signer: str, rules: int, figure: ReportFigure, machine: ReportMachine | None
) -> list[Measurement]:
    """Return what a figure of a report rests on; nothing where nobody measured it."""
    if machine is None or figure.measured is None:
        return []
    return [Measurement(_figure(figure), _verdict(figure), machine.measurement, signer, rules)]


def replication(
    own: Iterable[Measurement], others: Iterable[Measurement], *, by_others: bool
) -> Replication:
    """Return how often ``own`` figures are measured again among ``others``: by other signers than
    theirs, or by the same.
    """
    known = {each.figure: each for each in own}
    signers = {each.signer for each in known.values()}
    runs = {each.run for each in known.values()}
    again = {
        (each.figure, each.run): each
        for each in others
        if each.figure in known
        and each.run not in runs
        and (each.signer not in signers) == by_others
    }
    found = again.values()
    judged = [each for each in found if each.rules == known[each.figure].rules]
    return Replication(
        signers=len({each.signer for each in found}),
        cards=len({each.card for each in found} - {card for card, _ in runs}),
        measurements=len(found),
        verdicts=len(judged),
        agree=sum(each.verdict == known[each.figure].verdict for each in judged),
    )


def replication_line(own: Iterable[Measurement], others: Iterable[Measurement]) -> str:
    """Return one sentence on who measured figures again."""
    mine, theirs = list(own), list(others)
    independent = replication(mine, theirs, by_others=True)
    same = replication(mine, theirs, by_others=False)
    by = (
        f"{counted(independent.signers, 'other signer')} {independent.says}"
        if independent.measurements
        else "nobody else yet"
    )
    also = f"; by the same signer {same.says}" if same.measurements else ""
    return f"Measured again by {by}{also}."


def history_line(lines: Iterable[HistoryLine], signers: list[str]) -> str:
    """Return the same of one claim's history: its newest measurements against all before.

    ``signers``: of each report by its place, empty where nobody vouches for it.
    """
    newest: dict[str, list[Measurement]] = {}
    rest: list[Measurement] = []
    for line in lines:
        first = min(line.entries, key=lambda entry: entry.signed)
        if not signers[first.place]:
            continue
        entry = line.last
        found = in_report(signers[first.place], entry.rules, entry.figure, entry.machine)
        if found:
            rest += newest.get(entry.target, [])
            newest[entry.target] = found
    return replication_line([each for found in newest.values() for each in found], rest)


def _figure(of: Verdict | ReportFigure) -> tuple[object, ...]:
    return of.claim, of.target, of.claimed, of.unit


def _verdict(of: Verdict | ReportFigure) -> tuple[object, ...]:
    return of.status, of.as_if
