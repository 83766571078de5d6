"""A project's functions, called once each on a CPU: what would cost a GPU's time is found here."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.catalog.model import Catalog
from assay.measuring.device_jobs import correctness_job
from assay.measuring.device_process import device_environment
from assay.runtimes.base import Place, Task
from assay.runtimes.host import HostRuntime
from assay.shared.errors import ExitCode
from assay.shared.job_file import QueuedJob, write_job

FAULTS = {"failed": "", "incorrect": "its result is wrong on a CPU: "}
"""Statuses that are the project's fault, and what to say before the detail."""


@dataclass(frozen=True)
class TriedArm:
    """What became of an arm on a CPU that is not simply right."""

    measurement: str
    arm: str
    is_fault: bool
    """Whether the project is wrong; else the arm needs what is not here."""
    says: str


def try_on_cpu(
    catalog: Catalog, folder: Path, python: str, packages: Sequence[Path]
) -> list[TriedArm]:
    """Call every function of a project at its small size, under a Python with PyTorch.

    Raises MissingEnvironment where that lacks PyTorch, CheckFailed where it ends without a result.
    """
    measurements = sorted(catalog.project.measures) if catalog.project else []
    place = Place(HostRuntime(), python=python, packages=tuple(packages), project=folder)
    target = next(iter(catalog.targets))
    lines: list[str] = []
    with tempfile.TemporaryDirectory(prefix="assay-cpu-") as name:
        scratch, jobs = Path(name), []
        for number, measurement in enumerate(measurements):
            job = correctness_job(catalog, target, measurement, {})
            jobs.append(scratch / f"{number}.job.json")
            write_job(QueuedJob(job, scratch / f"{number}.json"), jobs[-1])
        task = Task(
            command=(python, "-m", "assay.device.tasks.on_cpu", *map(str, jobs)),
            directory=scratch,
            label="the project's functions on a CPU",
            environment=device_environment(place),
            inherit=True,
        )
        ended = place.run(task, lines.append)
        words = lines[-1] if lines else "it printed nothing"
        if ended.exit_code == ExitCode.MACHINE_LACKS:
            raise MissingEnvironment(f"{words}: name one that has it with --device-python")
        if ended.exit_code != ExitCode.DONE:
            raise CheckFailed(f"the project's functions ended with code {ended.exit_code}: {words}")
        found = [
            json.loads((scratch / f"{number}.json").read_text())
            for number in range(len(measurements))
        ]
    return [
        tried
        for measurement, result in zip(measurements, found, strict=True)
        for tried in _tried(measurement, result["arms"])
    ]


def _tried(measurement: str, arms: Sequence[dict[str, str]]) -> Iterator[TriedArm]:
    """Yield what is to be said of a measurement's arms, the same sentence once."""
    told: set[str] = set()
    for each in arms:
        if each["status"] == "correct" or each["detail"] in told:
            continue
        told.add(each["detail"])
        fault = each["status"] in FAULTS
        says = FAULTS.get(each["status"], "does not run on a CPU here: ") + each["detail"]
        yield TriedArm(measurement, each["arm"], fault, says)
