"""Everything of a project that would fail later, found without a GPU and without running it."""

from collections.abc import Iterator
from pathlib import Path

from assay.base.io import read_bytes
from assay.catalog.code_outline import CodeOutlines
from assay.catalog.model import Catalog
from assay.judging.answers import Asked, make_answers
from assay.judging.needs import comparisons_of, primary_terms
from assay.pipeline.compiled_arms import compiled_arms_problems, is_by_function
from assay.records.claims import Claim
from assay.records.evaluations import NotRun, Unanswerable
from assay.records.plan import Answer, Provision
from assay.shared.files import sha256_bytes
from assay.shared.read_limits import MOST_REPORT

SUPPOSED = "supposed"
"""What a plan is told of targets here: each is thought to be measured."""


def project_problems(catalog: Catalog, folder: Path) -> Iterator[str]:
    """Yield what is wrong with the project in ``folder``, beyond what reading it found."""
    yield from _documents(catalog, folder)
    measured = set(comparisons_of(catalog, catalog.claims.values()))
    outlines = CodeOutlines(folder)
    for name in sorted(catalog.project.measures if catalog.project else ()):
        comparison, workload = catalog.comparisons[name], catalog.workloads[name]
        arms = [arm.id for arm in comparison.arms]
        made = [arm.id for arm in comparison.arms if is_by_function(catalog, arm)]
        for problem in outlines.problems(workload, made):
            yield f"measurement '{name}': {problem}"
        yield from compiled_arms_problems(catalog, folder, name, outlines.words(workload))
        if name not in measured:
            yield f"measurement '{name}': no claim is answered by it, so nobody measures it"
            continue
        used = {
            arm
            for term in primary_terms(catalog.claims.values())
            if term.comparison == name
            for arm in (term.arm, term.over)
        }
        for arm in arms:
            if arm not in used and arm != comparison.control:
                yield f"measurement '{name}': no claim asks for arm '{arm}'"
    yield from _unanswered(catalog)


def _documents(catalog: Catalog, folder: Path) -> Iterator[str]:
    """Yield documents that lie in the project and are not those that it names."""
    for name, entry in catalog.sources.items():
        source = entry.source
        if source.file is None or not (folder / source.file).is_file():
            continue
        found = sha256_bytes(read_bytes(folder / source.file, MOST_REPORT))
        if found != source.sha256:
            yield f"source '{name}': {source.file} has SHA-256 {found}, not {source.sha256}"


def _unanswered(catalog: Catalog) -> Iterator[str]:
    """Yield claims that would not be answered though every target that they are for were here."""
    for claim in catalog.claims.values():
        targets = claim.hardware.targets or tuple(catalog.targets)[:1]
        supposed = tuple(
            Provision(target=name, kind="device", recorded_in=None, detail=SUPPOSED)
            for name in targets
        )
        asked = Asked((), supposed, frozenset())
        answers = list(make_answers(catalog, asked, [claim]))
        if not answers:
            yield f"claim '{claim.id}': nothing answers it"
        for answer in answers:
            named = (
                answer.reason is NotRun.ORIGINAL_UNAVAILABLE
            )  # it runs where a checkout is given
            if (
                answer.way == "not_run"
                and not named
                and not isinstance(claim.evaluation, Unanswerable)
            ):
                yield _says(claim, answer)


def _says(claim: Claim, answer: Answer) -> str:
    place = f" on {answer.target}" if answer.target else ""
    reason = answer.reason.value if answer.reason else "nobody knows why"
    return f"claim '{claim.id}': no job answers it{place} ({reason}): {answer.detail}"
