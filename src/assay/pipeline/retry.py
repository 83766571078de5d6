"""The choice of what a further start makes again: evidence that failed, what there was no compiler
for, a report that was damaged.

A record that says ``failed`` ends its run well (see best_effort.py), yet a later start of the
same run may have more luck. What was judged stands, whatever it says, and so does a lack that a
record names, such as ``not_installed``.
"""

from pathlib import Path

from assay.base.errors import BadInput, CheckFailed
from assay.base.io import read_record
from assay.evidence.entries import Purpose
from assay.evidence.outcomes import came_to_nothing
from assay.evidence.stages import BUILDS, ORIGINALS, of_purpose
from assay.records.base import Record
from assay.records.manifest import MANIFEST, Manifest
from assay.records.plan import Plan, TargetPlan
from assay.verification.manifest import changed_files


def outputs_to_retry(run_dir: Path, plan: Plan) -> list[str]:
    """Return what the workflow is to make again, relative to ``run_dir``.

    Of targets that this run measures, and only once all their figures are there: a start that goes
    on after an interruption does first what verdicts rest on. Builds that had no compiler come
    first: figures rest on them.
    """
    builds = [path for path in BUILDS.paths(plan).values() if _lacked_compiler(run_dir / path)]
    return [*builds, *_beside_figures(run_dir, plan)]


def _beside_figures(run_dir: Path, plan: Plan) -> list[str]:
    return [
        entry.output(target.target)
        for target in plan.targets
        if target.provision.kind == "device" and _has_figures(run_dir, target)
        for entry in (*of_purpose(Purpose.BESIDE), ORIGINALS)
        if any(
            _is_worth_another_try(run_dir / path, entry.record)
            for path in entry.paths(target).values()
        )
    ]


def _lacked_compiler(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        return not read_record(BUILDS.record, path).had_compiler
    except BadInput:
        return False  # what reads it for its figures says what is wrong with it


def is_damaged(report_dir: Path) -> bool:
    """Return whether a report lacks a file that it was signed with, or has another in its place.

    A report that is not there at all, or was never signed, is none; the workflow sees to that.
    """
    if not (report_dir / MANIFEST).is_file():
        return False
    try:
        manifest = read_record(Manifest, report_dir / MANIFEST)
        return changed_files(report_dir, manifest) != []
    except (BadInput, CheckFailed):
        return True


def _has_figures(run_dir: Path, plan: TargetPlan) -> bool:
    figures = [entry for entry in of_purpose(Purpose.FIGURES) if entry.keys(plan)]
    return all((run_dir / entry.output(plan.target)).is_dir() for entry in figures)


def _is_worth_another_try(path: Path, record: type[Record]) -> bool:
    if not path.is_file():
        return False  # the workflow sees for itself that it is missing
    try:
        return came_to_nothing(read_record(record, path))
    except BadInput:
        return True
