"""The check that verdicts follow from the evidence: judged again, by the rules that made them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.base.check_log import CheckLog, NamedCheck, listed, none
from assay.base.errors import BadInput, CheckFailed, MissingEnvironment
from assay.base.io import dump_record, parse_record, read_record
from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import pipeline_path
from assay.judging.judge import judge
from assay.judging.rules import RULES
from assay.records.attestation import PipelineRecord
from assay.records.manifest import PAGE, TEXT, VERDICTS, Manifest
from assay.records.verdicts import Verdict, VerdictsFile
from assay.shared.counting import counted
from assay.statistics.shared_summaries import SharedSummaries
from assay.verification.own_rules import NotJudgedAgain, passed_by_commit

TEXTS = (PAGE, TEXT)
LONGEST_VALUE = 60
"""Characters of a differing value that a sentence quotes."""


@dataclass(frozen=True)
class OwnCode:
    """What a report's own code needs to verify it where today's judges by other rules."""

    checkout: Path | None
    """Whose history holds the report's commit; None where there is no checkout."""
    keys: Sequence[Path]
    """Public keys that may have signed the report or what it took over."""


def other_rules(report_dir: Path) -> int | None:
    """Return the rules that a report was judged by where they are not this code's, else None.

    None as well where its verdicts cannot be read: the check of them will say so.
    """
    try:
        rules = read_record(VerdictsFile, report_dir / VERDICTS).rules
    except BadInput:
        return None
    return None if rules == RULES else rules


def check_verdicts(
    log: CheckLog,
    report_dir: Path,
    manifest: Manifest,
    catalog: Catalog,
    evidence: Evidence,
    summaries: SharedSummaries,
) -> None:
    """Judge again in this process; ``summaries`` takes up what that made."""
    with log.check("verdicts") as says:
        data = (report_dir / VERDICTS).read_bytes()
        again = judge(catalog, evidence, summaries)
        if dump_record(again) != data:
            given = parse_record(VerdictsFile, data, Path(VERDICTS))
            raise CheckFailed(_difference(given, again))
        _require_evidence(again, manifest)
        says(
            f"{counted(len(again.verdicts), 'verdict')}, recomputed from raw samples by rules "
            f"{RULES}, byte for byte the same"
        )


def check_by_own_rules(
    log: CheckLog, report_dir: Path, manifest: Manifest, code: OwnCode, *, texts: bool
) -> list[str]:
    """Have the report's own code judge it again and, where ``texts``, render it; returns notes.

    To be called once all else holds. Raises NotJudgedAgain where that code cannot be run here.
    """
    given = read_record(VerdictsFile, report_dir / VERDICTS)
    rules = given.rules
    pipeline = read_record(PipelineRecord, report_dir / "evidence" / pipeline_path())
    passed: dict[str, str] = {}
    with log.check("verdicts") as says:
        _require_evidence(given, manifest)
        try:
            if code.checkout is None:
                raise MissingEnvironment("there is no checkout whose history holds its commit")
            passed = passed_by_commit(report_dir, pipeline.commit, code.keys, code.checkout)
        except MissingEnvironment as lack:
            held = ", ".join(check.name for check in log.checks)
            raise NotJudgedAgain(
                f"{report_dir}: its verdicts are those of rules {rules}, this checkout judges by "
                f"rules {RULES}, and nothing judged them again: {lack} (checked, and it holds: "
                f"{held}; not checked: verdicts, texts)",
                rules,
                pipeline.commit,
            ) from lack
        says(
            f"judged again by rules {rules}, by the code of commit {pipeline.commit}, for this "
            f"checkout judges by rules {RULES}: {passed['verdicts']}"
        )
    if not texts or not passed:
        return []
    if "texts" in passed:
        log.checks.append(NamedCheck("texts", True, f"by the same commit: {passed['texts']}"))
        return []
    return [
        f"commit {pipeline.commit} renders other bytes of {' or '.join(TEXTS)} here, as it does "
        "under another Python than the report's, so the text is vouched for by the signature alone"
    ]


def _require_evidence(verdicts: VerdictsFile, manifest: Manifest) -> None:
    """Raise CheckFailed where a verdict rests on a file that the report does not list."""
    there = {entry.path for entry in manifest.files}
    named = {path for verdict in verdicts.verdicts for path in verdict.evidence}
    problems = [f"a verdict rests on {path}, which is not here" for path in sorted(named - there)]
    none(problems, "verdict-evidence")


def _difference(given: VerdictsFile, again: VerdictsFile) -> str:
    """One sentence on how recomputed verdicts differ from the given ones."""
    old = {(v.claim, v.target): v for v in given.verdicts}
    new = {(v.claim, v.target): v for v in again.verdicts}
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
    """The fields in which two verdicts differ, the first one with its values."""
    if given is None or again is None:
        return "not given" if given is None else "not found again"
    old, new = given.model_dump(mode="json"), again.model_dump(mode="json")
    names = [name for name in old if old[name] != new[name]]
    names.sort(key=lambda name: name != "status")
    first, *others = names
    sentence = f"{first}: given {_short(old[first])}, recomputed {_short(new[first])}"
    return sentence + (f"; also {', '.join(others)}" if others else "")


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."
