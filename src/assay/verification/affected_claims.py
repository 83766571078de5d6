"""Which claims rest on files that are not those that were signed, in words.

The signature tells that a file was changed, and nothing of what it says is believed. Which claims
rest on it is told by the other files, which are those that were signed; where it is the verdicts
that were changed, by judging again or by the page, and where it is a page, by rendering it again.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import suppress
from pathlib import Path

from assay.base.io import parse_record, read_record
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.load import load_evidence
from assay.evidence.report_contents import ReportContents
from assay.evidence.stages import pipeline_path
from assay.judging.judge import judge
from assay.judging.rules import RULES
from assay.records.attestation import PipelineRecord
from assay.records.manifest import PAGE, VERDICTS
from assay.records.verdicts import Verdict, VerdictsFile
from assay.shared.counting import agreeing, counted
from assay.shared.read_limits import MOST_DOCUMENT
from assay.statistics.shared_summaries import SharedSummaries
from assay.verification.judged_again import changed_verdicts
from assay.verification.manifest import EVIDENCE, plain_bytes

MOST_CLAIMS = 5
"""Claims that a sentence names before it counts the rest."""
_OF_JOB = re.compile(r"evidence/([a-z0-9_]+)/[a-z0-9_]+/([a-z0-9_]+)\.")
_OF_BUILD = re.compile(r"evidence/(?:[a-z0-9_]+/origin/)?builds/[a-z0-9_]+/([a-z0-9_]+)\.json")
_OF_TARGET = re.compile(r"evidence/([a-z0-9_]+)/[a-z0-9_]+\.json")
_OF_SOURCE = re.compile(r"evidence/config/claims/([a-z0-9_]+)\.yaml")
_NUMBER = re.compile(r"-?[0-9][0-9.]*(?:e[+-]?[0-9]+)?")
_SECTION = '<tbody class="claim" id="'
Texts = Callable[[ReportContents, SharedSummaries], dict[str, str]]
"""Renders the readable texts of a report, by name."""


def affected_claims(report_dir: Path, changed: Sequence[str], texts: Texts | None) -> str:
    """Return a sentence, without its end, on the claims that rest on ``changed`` files of a report;
    empty where none can be named. Raises nothing: a crafted file is one more reason not to tell.
    """
    with suppress(Exception):
        evidence = [path for path in changed if path.startswith(EVIDENCE)]
        if evidence:
            return _resting_on(report_dir, evidence)
        if VERDICTS in changed:
            return _judged_otherwise(report_dir, page=PAGE not in changed)
        if PAGE in changed and texts is not None:
            return _told_otherwise(report_dir, texts)
    return ""


def _verdicts(report_dir: Path) -> VerdictsFile:
    data = plain_bytes(report_dir, VERDICTS, MOST_DOCUMENT)
    return parse_record(VerdictsFile, data, report_dir / VERDICTS)


def _resting_on(report_dir: Path, changed: Sequence[str]) -> str:
    rows = _verdicts(report_dir).verdicts
    catalog: Catalog | None = None
    with suppress(Exception):  # its own files may be among the changed ones
        catalog = load_catalog(report_dir / EVIDENCE)
    found: dict[str, None] = {}
    for path in changed:
        found |= dict.fromkeys(_claims_on(path, rows, catalog))
    if not found:
        return "no verdict rests on what was changed"
    verdicts = agreeing(len(found), "the verdict on", "the verdicts on")
    rest = agreeing(len(found), "rests", "rest")
    return f"{verdicts} {_listed([*found])} {rest} on what was changed"


def _claims_on(path: str, rows: Sequence[Verdict], catalog: Catalog | None) -> Iterator[str]:
    """Yield the claims that rest on a file: those whose verdict names it, else those of its job,
    its binary, its source or its GPU; for what all are judged by, all.
    """
    named = [row for row in rows if path in row.evidence]
    if named:
        yield from map(_name, named)
    elif build := _OF_BUILD.fullmatch(path):
        yield from _of_jobs(None, _comparisons_of(build[1], catalog), rows, catalog)
    elif source := _OF_SOURCE.fullmatch(path):
        yield from (_name(row) for row in rows if row.source == source[1])
    elif path.startswith(f"{EVIDENCE}config/"):
        yield from map(_name, rows)
    elif job := _OF_JOB.match(path):
        yield from _of_jobs(job[1], {job[2]}, rows, catalog)
    elif target := _OF_TARGET.fullmatch(path):
        yield from (_name(row) for row in rows if row.target == target[1] and row.measured_on)


def _of_jobs(
    target: str | None, jobs: Set[str], rows: Sequence[Verdict], catalog: Catalog | None
) -> Iterator[str]:
    """Yield claims that one of these jobs answers, or that have a reading by it."""
    for row in rows:
        own = (_OF_JOB.match(path) for path in row.evidence)
        answers = any(job and job[2] in jobs and target in (None, job[1]) for job in own)
        claim = catalog.claims.get(row.claim) if catalog else None
        asked = claim.model_dump_json() if claim and target in (None, row.target) else ""
        if answers or any(f'"comparison":"{job}"' in asked for job in jobs):
            yield _name(row)


def _comparisons_of(variant: str, catalog: Catalog | None) -> set[str]:
    return {
        comparison.id
        for comparison in (catalog.comparisons.values() if catalog else ())
        if variant in {arm.variant for arm in comparison.arms}
    }


def _judged_otherwise(report_dir: Path, *, page: bool) -> str:
    """Return which verdicts are not those that the raw samples give; where other rules than today's
    judged them, which are not those of the page, as far as that is the one that was signed.
    """
    given = _verdicts(report_dir)
    if given.rules != RULES:
        return _not_as_shown(report_dir, given) if page else ""
    contents = _contents(report_dir, given)
    changed = changed_verdicts(given, judge(contents.catalog, contents.evidence))
    return f"the raw samples give other verdicts on {_listed(changed)}" if changed else ""


def _not_as_shown(report_dir: Path, given: VerdictsFile) -> str:
    """Return the claims of which the page shows no figure and verdict that a row has."""
    text = plain_bytes(report_dir, PAGE, MOST_DOCUMENT).decode()
    shown = {claim: (figure, line) for claim, figure, line in _lines(text)}
    claims = dict.fromkeys(row.claim for row in given.verdicts)
    others = [
        claim
        for claim in claims
        if claim in shown
        and not any(_is_shown(row, *shown[claim]) for row in given.verdicts if row.claim == claim)
    ]
    if not others:
        return ""
    return f"the page, which is the one that was signed, says other things of {_listed(others)}"


def _lines(page: str) -> Iterator[tuple[str, str, str]]:
    """Yield of each claim its id, the measured figure that its line shows, and the whole line."""
    for part in page.split(_SECTION)[1:]:
        claim, _, said = part.partition('"')
        line = said.partition('class="more"')[0]
        cells = line.split("<td>", 3)
        yield claim, cells[2] if len(cells) > 2 else "", line


def _is_shown(row: Verdict, figure: str, line: str) -> bool:
    """Return whether a line is of a row: its status, and its figure to the digits of the line, in
    whichever unit that is told.
    """
    words = [status.word for status in (row.status, row.as_if) if status is not None]
    if not any(f">{word}<" in line for word in words):
        return False
    number = _NUMBER.match(figure)
    if number is None or not isinstance(row.measured, float):
        return True
    told = float(number[0])
    return any(math.isclose(told, row.measured * by, rel_tol=1e-3) for by in (1.0, 1e3, 1e-3))


def _contents(report_dir: Path, verdicts: VerdictsFile) -> ReportContents:
    folder = report_dir / EVIDENCE
    return ReportContents(
        verdicts,
        b"",
        read_record(PipelineRecord, folder / pipeline_path()),
        load_catalog(folder),
        load_evidence(folder),
    )


def _told_otherwise(report_dir: Path, texts: Texts) -> str:
    """Return of which claims the page shows another figure than this version does; nothing where it
    does of many: another version made the page.
    """
    contents = _contents(report_dir, _verdicts(report_dir))
    page = plain_bytes(report_dir, PAGE, MOST_DOCUMENT).decode()
    again = texts(contents, SharedSummaries())[PAGE]
    given, made = _figures(page), _figures(again)
    others = [claim for claim in made if given.get(claim) != made[claim]]
    if not 0 < len(others) <= MOST_CLAIMS:
        return ""
    return f"the page shows other figures of {_listed(others)} than the evidence gives"


def _figures(page: str) -> dict[str, list[str]]:
    """Return the claimed and the measured figure that a page shows of each claim, by its id."""
    return {claim: line.split("<td>", 3)[1:3] for claim, _, line in _lines(page)}


def _name(row: Verdict) -> str:
    return f"{row.claim}{f' on {row.target}' if row.target else ''}"


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - MOST_CLAIMS
    more = f" and {counted(rest, 'more claim')}" if rest > 0 else ""
    return ", ".join(names[:MOST_CLAIMS]) + more
