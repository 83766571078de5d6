"""What failed: the traces of steps of this start, and what a further start makes again.

A record that says ``failed`` ends its run well (see best_effort.py), yet a later start of the same
run may have more luck. What was judged stands, whatever it says, and so does a lack that a record
names, such as ``not_installed``.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from assay.base.errors import AssayError, BadInput, CheckFailed, MissingEnvironment
from assay.base.io import read_record
from assay.evidence.entries import Purpose
from assay.evidence.outcomes import came_to_nothing
from assay.evidence.stages import BUILDS, ORIGINALS, of_purpose
from assay.records.attestation import MANIFEST, Manifest
from assay.records.base import Record
from assay.records.plan import Plan
from assay.shared.counting import counted
from assay.shared.files import write_bytes
from assay.verification.manifest import changed_files

ERRORS: dict[int, type[AssayError]] = {
    kind.exit_code: kind for kind in (CheckFailed, BadInput, MissingEnvironment)
}


@dataclass(frozen=True)
class StepFailure:
    """The failure of one step."""

    step: str
    exit_code: int
    message: str

    @property
    def lacks_something(self) -> bool:
        """Return whether the machine lacks something: other steps will find the same."""
        return self.exit_code == MissingEnvironment.exit_code


def write_failure(run_dir: Path, failure: StepFailure) -> None:
    """Leave word of a failure where the command line looks for it."""
    document = {
        "step": failure.step,
        "exit_code": failure.exit_code,
        "message": failure.message,
    }
    write_bytes(run_dir / "failures" / f"{failure.step}.json", json.dumps(document).encode())


def earlier_word(run_dir: Path, step: str) -> StepFailure | None:
    """Return the word by which an earlier try of a step failed in this start, where it is final.

    A cluster's job is submitted again whatever ended it. What a step itself found wrong it would
    find again; what a node lacked, the next may have, and that word is taken back.
    """
    found = next((each for each in read_failures(run_dir) if each.step == step), None)
    if found is not None and found.lacks_something:
        (run_dir / "failures" / f"{step}.json").unlink(missing_ok=True)
        return None
    return found


def read_failures(run_dir: Path) -> list[StepFailure]:
    """Return the failures of a run's last start, the first one first."""
    found = []
    for path in (run_dir / "failures").glob("*.json"):
        try:
            document = json.loads(path.read_text())
            failure = StepFailure(document["step"], document["exit_code"], document["message"])
            found.append((path.stat().st_mtime_ns, failure))
        except (OSError, ValueError, KeyError):
            continue  # on its way over a network's file system
    return [failure for _, failure in sorted(found, key=lambda pair: pair[0])]


def error_of(failures: list[StepFailure]) -> AssayError:
    """Return one error for a run's failures, each said once.

    What the machine lacks says all there is to say; else the first decides the exit code.
    """
    lacking = [failure for failure in failures if failure.lacks_something]
    first = (lacking or failures)[0]
    kind = ERRORS.get(first.exit_code, CheckFailed)
    if lacking or len(failures) == 1:
        return kind(f"{first.step}: {first.message}")
    lines = "".join(f"\n  {failure.step}: {failure.message}" for failure in failures)
    return kind(f"{counted(len(failures), 'step')} failed:{lines}")


def outputs_to_retry(run_dir: Path, plan: Plan) -> list[str]:
    """Return what the workflow is to make again, relative to ``run_dir``: builds that had no
    compiler, and records beside figures that were measured here and came to nothing.
    """
    builds = [path for path in BUILDS.paths(plan).values() if _lacked_compiler(run_dir / path)]
    beside = [
        entry.output(target.target)
        for target in plan.targets
        if target.provision.kind == "device"
        for entry in (*of_purpose(Purpose.BESIDE), ORIGINALS)
        if any(
            _is_worth_another_try(run_dir / path, entry.record)
            for path in entry.paths(target).values()
        )
    ]
    return [*builds, *beside]


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


def _is_worth_another_try(path: Path, record: type[Record]) -> bool:
    if not path.is_file():
        return False  # the workflow sees for itself that it is missing
    try:
        return came_to_nothing(read_record(record, path))
    except BadInput:
        return True
