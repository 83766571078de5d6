"""The check that verdicts follow from the evidence: judged again, by the rules of this version."""

from assay.base.check_log import CheckLog, listed
from assay.base.errors import CheckFailed
from assay.base.io import dump_record
from assay.base.printable import shortened
from assay.evidence.report_contents import ReportContents
from assay.judging.judge import judge
from assay.judging.rules import RULES
from assay.records.verdicts import Verdict, VerdictsFile
from assay.shared.counting import counted
from assay.statistics.shared_summaries import SharedSummaries

LONGEST_VALUE = 60
"""Characters of a differing value that a sentence quotes."""


class OtherVersion(CheckFailed):
    """A report is intact, and another version made it: this one does not call it verified.

    ``rules`` judged it; ``commit`` is the version that can judge and render it again.
    """

    code = "other-version"

    def __init__(self, sentence: str, rules: int, commit: str | None) -> None:
        super().__init__(sentence)
        self.rules = rules
        self.commit = commit


def other_rules(verdicts: VerdictsFile) -> int | None:
    """Return the rules that verdicts are judged by where they are not this code's, else None."""
    return None if verdicts.rules == RULES else verdicts.rules


def check_verdicts(log: CheckLog, contents: ReportContents, summaries: SharedSummaries) -> None:
    """Judge again in this process; ``summaries`` takes up what that made."""
    with log.check("verdicts") as says:
        again = judge(contents.catalog, contents.evidence, summaries)
        if dump_record(again) != contents.verdicts_data:
            raise CheckFailed(_difference(contents.verdicts, again))
        says(
            f"{counted(len(again.verdicts), 'verdict')}, recomputed from raw samples by rules "
            f"{RULES}, byte for byte the same",
            short=f"{len(again.verdicts)}, judged again by rules {RULES}",
        )


def _difference(given: VerdictsFile, again: VerdictsFile) -> str:
    """One sentence on how recomputed verdicts differ from the given ones."""
    names = changed_verdicts(given, again)
    if not names:
        return "verdicts.json holds other bytes than the judge writes"
    return "the judge finds other verdicts in the raw samples: " + listed(names)


def changed_verdicts(given: VerdictsFile, again: VerdictsFile) -> list[str]:
    """Return the verdicts that differ, by claim and target, each with what differs."""
    old = {(v.claim, v.target): v for v in given.verdicts}
    new = {(v.claim, v.target): v for v in again.verdicts}
    return [
        f"{claim}{' on ' + target if target else ''} "
        f"({_changed(old.get((claim, target)), new.get((claim, target)))})"
        for claim, target in sorted(old.keys() | new.keys(), key=str)
        if old.get((claim, target)) != new.get((claim, target))
    ]


def _changed(given: Verdict | None, again: Verdict | None) -> str:
    """The fields in which two verdicts differ, the first one with its values."""
    if given is None or again is None:
        return "not given" if given is None else "not found again"
    old, new = given.model_dump(mode="json"), again.model_dump(mode="json")
    names = [name for name in old if old[name] != new[name]]
    names.sort(key=lambda name: name != "status")
    first, *others = names
    given_value, new_value = (shortened(each[first], LONGEST_VALUE) for each in (old, new))
    sentence = f"{first}: given {given_value}, recomputed {new_value}"
    return sentence + (f"; also {', '.join(others)}" if others else "")
