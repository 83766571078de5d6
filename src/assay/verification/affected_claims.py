"""Which claims rest on files that are not those that were signed, in words.

The signature tells that a file was changed, and nothing of what it says is believed. Which claims
rest on it is told by the other files, which are those that were signed; where it is the file that
states claims, by what their verdicts were given on, and by the verifier's own file of them; where
it is the verdicts, by judging again or by the page; and where it is a page, by rendering it again,
if this code made it, else by the verdicts' figures.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import suppress
from pathlib import Path

from assay.base.check_log import listed
from assay.base.io import parse_record, read_record
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.catalog.project_folder import EVIDENCE_FOLDER
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
from assay.verification.policy import Policy
from assay.verification.stated_claims import OF_SOURCE, stated_otherwise, unlike_own

MOST_CLAIMS = 5
"""Claims that a sentence names before it counts the rest."""
_OF_JOB = re.compile(r"evidence/([a-z0-9_]+)/[a-z0-9_]+/([a-z0-9_]+)\.")
_OF_BUILD = re.compile(r"evidence/(?:[a-z0-9_]+/origin/)?builds/[a-z0-9_]+/([a-z0-9_]+)\.json")
_OF_TARGET = re.compile(r"evidence/([a-z0-9_]+)/[a-z0-9_]+\.json")
_NUMBER = re.compile(r"-?[0-9][0-9.]*(?:e[+-]?[0-9]+)?")
_SECTION = '<tbody class="claim" id="'
Texts = Callable[[ReportContents, SharedSummaries], dict[str, str]]
"""Renders the readable texts of a report, by name."""


def affected_claims(
    report_dir: Path, changed: Sequence[str], texts: Texts | None, policy: Policy | None = None
) -> str:
    """Return a sentence, without its end, on the claims that rest on ``changed`` files of a report;
    empty where none can be named. Raises nothing: a crafted file is one more reason not to tell.

    ``policy`` says whose files of claims those of the report are held against.
    """
    with suppress(Exception):
        evidence = [path for path in changed if path.startswith(EVIDENCE)]
        if evidence:
            stated = _stated(report_dir, evidence, changed, policy)
            return "; ".join(stated) or _resting_on(report_dir, evidence)
        if VERDICTS in changed:
            return _judged_otherwise(report_dir, page=PAGE not in changed)
        if PAGE in changed and texts is not None:
            return _told_otherwise(report_dir, changed, texts)
    return ""


def _stated(
    report_dir: Path, evidence: Sequence[str], changed: Sequence[str], policy: Policy | None
) -> list[str]:
    """Return what changed files of claims say otherwise than the verdicts and the verifier do."""
    known = VERDICTS not in changed
    judged = stated_otherwise(report_dir, evidence, _verdicts(report_dir)) if known else {}
    told = [f"other claims are stated than were judged: {_listed([*judged.values()])}"]
    unlike, whose = unlike_own(report_dir, evidence, judged.keys(), policy)
    own = [f"otherwise than those of {whose}: {listed(unlike, MOST_CLAIMS)}"]
    return [*(told if judged else ()), *(own if unlike else ())]


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
    its binary, its source or its GPU; for what all are judged by, or a project's own files, all.
    """
    named = [row for row in rows if path in row.evidence]
    if path.startswith(f"{EVIDENCE}{EVIDENCE_FOLDER}/"):  # what some claim says there, or its code
        yield from map(_name, rows)
    elif named:
        yield from map(_name, named)
    elif build := _OF_BUILD.fullmatch(path):
        yield from _of_jobs(None, _comparisons_of(build[1], catalog), rows, catalog)
    elif source := OF_SOURCE.fullmatch(path):
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
        others = _not_as_shown(report_dir, given) if page else []
        shows = "the page, which is the one that was signed, says other things of"
        return f"{shows} {_listed(others)}" if others else ""
    contents = _contents(report_dir, given)
    changed = changed_verdicts(given, judge(contents.catalog, contents.evidence))
    return f"the raw samples give other verdicts on {_listed(changed)}" if changed else ""


def _not_as_shown(report_dir: Path, given: VerdictsFile) -> list[str]:
    """Return the claims of which the page shows no figures and verdict that a row has."""
    text = plain_bytes(report_dir, PAGE, MOST_DOCUMENT).decode()
    shown = {claim: (figures, line) for claim, figures, line in _lines(text)}
    claims = dict.fromkeys(row.claim for row in given.verdicts)
    return [
        claim
        for claim in claims
        if claim in shown
        and not any(_is_shown(row, *shown[claim]) for row in given.verdicts if row.claim == claim)
    ]


def _lines(page: str) -> Iterator[tuple[str, list[str], str]]:
    """Yield of each claim its id, the claimed and the measured figure that its line shows, and the
    whole line.
    """
    for part in page.split(_SECTION)[1:]:
        claim, _, said = part.partition('"')
        line = said.partition('class="more"')[0]
        yield claim, line.split("<td>", 3)[1:3], line


def _is_shown(row: Verdict, figures: Sequence[str], line: str) -> bool:
    """Return whether a line is of a row: its status, and its figures."""
    words = [status.word for status in (row.status, row.as_if) if status is not None]
    if not any(f">{word}<" in line for word in words):
        return False
    values = (row.claimed, row.measured)
    return all(map(_tells, figures, values))


def _tells(text: str, value: float | str | None) -> bool:
    """Return whether a figure's text is of a value: to the digits of the text, in whichever unit
    that is told. What is no number on either side is not compared.
    """
    number = _NUMBER.search(text)
    if number is None or not isinstance(value, float):
        return True
    told, decimals = float(number[0]), len(number[0].partition(".")[2])
    step = 0.0 if "e" in number[0] else 0.51 * 10.0**-decimals
    return any(
        math.isclose(told, value * by, rel_tol=1e-3, abs_tol=step) for by in (1.0, 1e3, 1e-3)
    )


def _contents(report_dir: Path, verdicts: VerdictsFile) -> ReportContents:
    folder = report_dir / EVIDENCE
    return ReportContents(
        verdicts,
        b"",
        read_record(PipelineRecord, folder / pipeline_path()),
        load_catalog(folder),
        load_evidence(folder),
    )


def _told_otherwise(report_dir: Path, changed: Sequence[str], texts: Texts) -> str:
    """Return of which claims the page shows other figures than the verdicts have.

    Where this code made the page, they are those that it renders otherwise. Another code writes
    numbers otherwise, so that its page's are compared with the verdicts' as numbers; where many
    differ, they are written in a way that cannot be read here, and none is named.
    """
    given = _verdicts(report_dir)
    if given.rules == RULES:
        again = texts(_contents(report_dir, given), SharedSummaries())
        untouched = [name for name in again if name not in changed]
        if untouched and all(_is_in(report_dir, name, again[name]) for name in untouched):
            page = plain_bytes(report_dir, PAGE, MOST_DOCUMENT).decode()
            shown, made = _figures(page), _figures(again[PAGE])
            return _shown_otherwise([name for name in made if shown.get(name) != made[name]])
    return _shown_otherwise(_not_as_shown(report_dir, given))


def _is_in(report_dir: Path, name: str, text: str) -> bool:
    return plain_bytes(report_dir, name, MOST_DOCUMENT) == text.encode()


def _shown_otherwise(claims: Sequence[str]) -> str:
    if not 0 < len(claims) <= MOST_CLAIMS:
        return ""
    return f"the page shows other figures of {_listed(claims)} than the evidence gives"


def _figures(page: str) -> dict[str, list[str]]:
    """Return the claimed and the measured figure that a page shows of each claim, by its id."""
    return {claim: figures for claim, figures, _ in _lines(page)}


def _name(row: Verdict) -> str:
    return f"{row.claim}{f' on {row.target}' if row.target else ''}"


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - MOST_CLAIMS
    more = f" and {counted(rest, 'more claim')}" if rest > 0 else ""
    return ", ".join(names[:MOST_CLAIMS]) + more
