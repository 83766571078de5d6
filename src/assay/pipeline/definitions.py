"""Digests of all that a measurement's meaning rests on: when one changes, it is measured again.

A digest covers where the figures come from, the target, the code that made the record (see
``device_code``) and, of the configuration, what the stage looks at. What only judging reads, such
as a margin, is in none.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from assay.base.io import dump_record
from assay.catalog.model import Catalog
from assay.measuring.operator_kernels import offered
from assay.pipeline.device_code import START, code_digest
from assay.records.base import Record
from assay.records.plan import Request, TargetPlan
from assay.shared.files import sha256_bytes

TASKS = "assay.device.tasks"
MODULES = {
    "platform": f"{TASKS}.platform",
    "correctness": f"{TASKS}.correctness",
    "benchmark": f"{TASKS}.benchmark",
    "program": f"{TASKS}.program_runs",
    "profile": f"{TASKS}.profile",
    "stopwatch": f"{TASKS}.nvbench",
    "cheats": f"{TASKS}.cheats",
    "sanitizer": f"{TASKS}.sanitizer",
    "operators": f"{TASKS}.operators",
}
"""What the device side runs for each stage; the image of a runner holds none of it."""


@dataclass(frozen=True)
class Definitions:
    """The definitions of everything that one target's plan calls for."""

    catalog: Catalog
    request: Request
    plan: TargetPlan

    def stage(self, stage: str) -> str:
        """Return the digest of all records of a stage, ``image`` among the stages."""
        names = [self.measurement(stage, name) for name in self._comparisons(stage)]
        return _digest([self.measurement(stage), *self._planned(stage), *names])

    def measurement(self, stage: str, comparison: str | None = None) -> str:
        """Return the digest of one record of a stage, of a comparison where it is of one."""
        target = self.catalog.targets[self.plan.target]
        runtime = "" if self.request.runtime == "host" else self.request.runtime
        parts = [_plain(self.plan.provision), _plain(target, "peaks"), runtime]
        if stage in MODULES:
            parts.append(code_digest([START, MODULES[stage]]))
        if stage == "program":
            parts.append(self.catalog.judging.program_runs)
        if stage == "correctness":
            parts.append(self.catalog.judging.correctness_seeds)
        if comparison is not None:
            parts += self._configuration(stage, comparison)
        return _digest(parts)

    def _configuration(self, stage: str, comparison: str) -> Iterator[Any]:
        described = self.catalog.comparisons[comparison]
        yield _plain(described, "title")
        if stage == "benchmark":
            yield _plain(self.catalog.protocols[described.protocol])
        for arm in described.arms:
            yield _plain(self.catalog.workloads[arm.workload])
            yield _plain(self.catalog.variants[arm.variant], "title")

    def _comparisons(self, stage: str) -> list[str]:
        """Return the comparisons that a stage looks at."""
        return {
            "correctness": list(self.plan.comparisons),
            "benchmark": list(self.plan.comparisons),
            "sanitizer": list(self.plan.comparisons),
            "stopwatch": list(self.plan.stopwatches),
            "profile": list(dict.fromkeys(comparison for comparison, _ in self.plan.profiles)),
        }.get(stage, [])

    def _planned(self, stage: str) -> list[Any]:
        """Return what a stage's plan lists beside comparisons."""
        if stage == "program":
            return [_plain(program) for program in self.plan.programs]
        if stage == "operators":
            kernels = offered(self.catalog, self.plan.target)
            return [*self.plan.operators, *(_plain(kernel) for kernel in kernels)]
        return list(
            {"profile": self.plan.profiles, "sanitizer": self.plan.sanitized}.get(stage, ())
        )


def _plain(record: Record, *but: str) -> Any:
    """Return a record's content without the fields named, which no measurement looks at."""
    document = json.loads(dump_record(record))
    return {key: value for key, value in document.items() if key not in but}


def _digest(parts: list[Any]) -> str:
    return sha256_bytes(json.dumps(parts, sort_keys=True).encode())
