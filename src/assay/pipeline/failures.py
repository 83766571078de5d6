"""What failed: the traces of steps of this start, and what a further start makes again.

A record that says ``failed`` ends its run well (``measuring.resume.Beside``), yet a later start of
the same run may have more luck. What was judged stands, and so does a lack that a record names.
"""

from pathlib import Path

from assay.base.errors import AssayError, BadInput, CheckFailed, MissingEnvironment
from assay.base.io import read_record
from assay.evidence import stages
from assay.evidence.outcomes import came_to_nothing
from assay.measuring.resume import kept_record
from assay.pipeline.run_files import MEASURED
from assay.records.base import Record
from assay.records.plan import Plan, TargetPlan
from assay.shared.counting import counted

ERRORS: dict[int, type[AssayError]] = {
    kind.exit_code: kind for kind in (CheckFailed, BadInput, MissingEnvironment)
}


class StepFailure(Record):
    """The failure of one step, as it leaves word of it for the command line."""

    step: str
    exit_code: int
    message: str

    @property
    def lacks_something(self) -> bool:
        """Return whether the machine lacks something: other steps will find the same."""
        return self.exit_code == MissingEnvironment.exit_code


def failure_path(run_dir: Path, step: str) -> Path:
    """Return where a step leaves word of its failure."""
    return run_dir / "failures" / f"{step}.json"


def read_failures(run_dir: Path) -> list[StepFailure]:
    """Return the failures of a run's last start, the first one first."""
    found = []
    for path in run_dir.glob("failures/*.json"):
        try:
            found.append((path.stat().st_mtime_ns, read_record(StepFailure, path)))
        except (OSError, BadInput):
            continue  # on its way over a network's file system
    return [failure for _, failure in sorted(found, key=lambda pair: pair[0])]


def error_of(failures: list[StepFailure]) -> AssayError:
    """Return one error for all failures: what the machine lacks alone, else by the first's code."""
    lacking = [failure for failure in failures if failure.lacks_something]
    first = (lacking or failures)[0]
    kind = ERRORS.get(first.exit_code, CheckFailed)
    if lacking or len(failures) == 1:
        return kind(f"{first.step}: {first.message}")
    lines = "".join(f"\n  {failure.step}: {failure.message}" for failure in failures)
    return kind(f"{counted(len(failures), 'step')} failed:{lines}")


def outputs_to_retry(run_dir: Path, plan: Plan) -> list[str]:
    """Return what to make again, below ``run_dir``: targets with a failed or lost record."""
    again = []
    for target in plan.targets:
        measured = MEASURED.format(target.target)
        of = (stages.PLATFORMS, stages.CORRECTNESS, stages.BENCHMARKS)
        paths = (run_dir / path for stage in of for path in stage.paths(target).values())
        taken_away = (run_dir / measured).is_file() and not all(map(Path.is_file, paths))
        if target.provision.kind == "device" and (taken_away or _failed_beside(run_dir, target)):
            again.append(measured)
    return again


def _failed_beside(run_dir: Path, target: TargetPlan) -> bool:
    beside = [each for each in stages.TARGET_STAGES if each.purpose is stages.Purpose.BESIDE]
    for stage in (*beside, stages.ORIGINALS):
        for path in filter(Path.is_file, map(run_dir.joinpath, stage.paths(target).values())):
            found = kept_record(path, stage.record)
            if found is None or came_to_nothing(found):
                return True
    return False
