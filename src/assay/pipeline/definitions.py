"""Digests of all that a measurement's meaning rests on: when one changes, it is measured again.

They cover the code that made the record and, of the configuration, what the device side is told.
Which modules a task runs is read off their source: nothing of the device side can be imported here.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from modulefinder import ModuleFinder
from pathlib import Path
from typing import Any

from assay.catalog.model import Catalog
from assay.evidence.stages import TARGET_STAGES, AnyStage
from assay.measuring.device_jobs import comparison_spec
from assay.records.base import Record
from assay.records.plan import Request, TargetPlan
from assay.records.workloads import as_spec
from assay.shared.files import sha256_bytes
from assay.shared.job import TASKS
from assay.shared.specs import ProtocolSpec, TargetSpec

PACKAGE = Path(__file__).resolve().parents[1]
START = "assay.device.__main__"
"""Runs before any task."""
ROOMS = ("device", "ops", "shared")
"""Packages that the device side is made of."""


@dataclass(frozen=True)
class Definitions:
    """The definitions of everything that one target's plan calls for."""

    catalog: Catalog
    request: Request
    plan: TargetPlan

    def whole(self) -> str:
        """Return the digest of all that a target's stages are told: changed, they run again."""
        catalog, judging, plan = self.catalog, self.catalog.judging, self.plan
        stages = [stage for stage in TARGET_STAGES if stage.keys(plan)]
        parts: list[Any] = [self.measurement(stage) for stage in stages]
        for field in (stage.field for stage in stages if stage.field):
            planned = getattr(plan, field)
            parts += map(_content, planned if isinstance(planned, tuple) else [planned])
        parts += [asdict(as_spec(TargetSpec, catalog.targets[plan.target])), plan.provision.gpus]
        parts += [judging.correctness_seeds, judging.program_runs, self.request.gpu_minutes]
        parts.append(bool(self.request.sources))  # a sweep for its own sake has nothing beside
        parts += [catalog.programs[job.program].verified_by(job.arguments) for job in plan.programs]
        # Which binaries the arms run, the workflow sees by its inputs.
        for name in plan.comparisons:
            comparison = catalog.comparisons[name]
            protocol = catalog.protocols[comparison.protocol]
            parts += [asdict(comparison_spec(catalog, name, {})), comparison.profile]
            parts += [asdict(as_spec(ProtocolSpec, protocol)), protocol.looks]
        return _digest(parts)

    def measurement(self, stage: AnyStage) -> str:
        """Return a digest of what a stage's measurements rest on beside jobs and counts of GPUs."""
        parts: list[Any] = [self.plan.provision.kind, self.request.runtime]
        parts += self.request.device_paths
        if stage.task is not None:
            parts.append(code_digest((START, TASKS[stage.task].full_module)))
        return _digest(parts)


def _content(entry: Any) -> Any:
    return entry.model_dump(mode="json", by_alias=True) if isinstance(entry, Record) else entry


def _digest(parts: list[Any]) -> str:
    return sha256_bytes(json.dumps(parts, sort_keys=True).encode())


@cache
def code_digest(modules: tuple[str, ...], package: Path = PACKAGE) -> str:
    """Return the digest of ``modules``' source, what they import on the device side and the C
    beside it, as it was when first asked for in this process.
    """
    sources = imported(modules, package)
    in_c = {f"{name}.c": path.with_suffix(".c") for name, path in sources.items()}
    sources |= {name: path for name, path in in_c.items() if path.is_file()}
    found = sorted(sources.items())
    return _digest([[name, sha256_bytes(path.read_bytes())] for name, path in found])


def imported(modules: Iterable[str], package: Path = PACKAGE) -> dict[str, Path]:
    """Return ``modules`` and their device-side imports, with their files. Raises ImportError."""
    finder = ModuleFinder(path=[str(package.parent)])
    for name in modules:
        finder.import_hook(name)
    files = {name: vars(found)["__file__"] for name, found in finder.modules.items()}
    rooms = tuple(f"{PACKAGE.name}.{room}." for room in ROOMS)
    return {n: Path(file) for n, file in files.items() if file and f"{n}.".startswith(rooms)}
