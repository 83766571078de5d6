"""Verdicts and pages made again by this version: in every byte they must be the report's."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from assay.base.check_log import CheckLog, listed
from assay.base.errors import CheckFailed
from assay.base.io import dump_record
from assay.base.printable import shortened
from assay.evidence.load import ReportContents
from assay.judging import RULES
from assay.records.attestation import TEXTS, PipelineRecord
from assay.records.verdicts import Verdict, VerdictsFile
from assay.shared.counting import counted

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


@dataclass(frozen=True)
class Renderer:
    """This version's way of making the readable texts; handed in, for stages know no other."""

    texts: Callable[[ReportContents], dict[str, str]]
    """The readable texts by name, rendered from a report's evidence and verdicts."""
    commit: str | None
    """The commit this version is."""
    clean_tree: bool | None

    def made(self, pipeline: PipelineRecord) -> bool:
        """Return whether this very version, unchanged, says to have made a report."""
        same = self.commit is not None and self.commit == pipeline.commit
        return same and self.clean_tree is True and pipeline.clean_tree is True


def check_verdicts(log: CheckLog, contents: ReportContents) -> None:
    """Judge again in this process."""
    # Its libraries take half a second to load, and whoever asks for a signature needs none.
    from assay.judging.judge import judge  # noqa: PLC0415

    with log.check("verdicts") as says:
        again = judge(contents.catalog, contents.evidence)
        if dump_record(again) != contents.verdicts_data:
            raise CheckFailed(_difference(contents.verdicts, again))
        says(
            f"{counted(len(again.verdicts), 'verdict')}, recomputed from raw samples by rules "
            f"{RULES}, byte for byte the same"
        )


def _difference(given: VerdictsFile, again: VerdictsFile) -> str:
    """Say in one sentence which verdicts differ, by claim and target, each with what differs."""
    old, new = ({(v.claim, v.target): v for v in each.verdicts} for each in (given, again))
    names = [
        f"{claim}{' on ' + target if target else ''} "
        f"({_changed(old.get((claim, target)), new.get((claim, target)))})"
        for claim, target in sorted(old.keys() | new.keys(), key=str)
        if old.get((claim, target)) != new.get((claim, target))
    ]
    if not names:
        return "verdicts.json holds other bytes than the judge writes"
    return "the judge finds other verdicts in the raw samples: " + listed(names)


def _changed(given: Verdict | None, again: Verdict | None) -> str:
    """Return the first field in which two verdicts differ, with its values: the status, if so."""
    if given is None or again is None:
        return "not given" if given is None else "not found again"
    old, new = given.model_dump(mode="json"), again.model_dump(mode="json")
    name = next(name for name in ("status", *old) if old[name] != new[name])
    given_value, new_value = (shortened(each[name], LONGEST_VALUE) for each in (old, new))
    return f"{name}: given {given_value}, recomputed {new_value}"


def check_texts(
    log: CheckLog,
    report_dir: Path,
    contents: ReportContents,
    renderer: Renderer,
) -> str | None:
    """Render the texts again and compare every byte.

    Equal bytes pass, whichever version wrote them. Other bytes fail where this version made the
    report. Return how they differ where another version did: nothing is checked then.
    """
    problem = None
    try:
        texts = renderer.texts(contents)
    except Exception as error:
        # A template of today may ask for what an older record does not hold.
        problem = f"they cannot be rendered again: {type(error).__name__}: {error}"
    else:
        names = [name for name in TEXTS if _bytes(report_dir / name) != texts[name].encode()]
        if names:
            problem = f"{' and '.join(names)}: the evidence renders to other bytes here"
    if problem is not None and not renderer.made(contents.pipeline):
        return problem
    with log.check("texts") as says:
        if problem is not None:
            raise CheckFailed(problem, code="texts")
        says(f"{', '.join(TEXTS)}: rendered again from the evidence, byte for byte the same")
    return None


def _bytes(path: Path) -> bytes | None:
    """Return a text; None where a report has none of that name, as those from before."""
    return path.read_bytes() if path.is_file() else None
