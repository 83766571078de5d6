"""Digests of all that a measurement's meaning rests on: when one changes, it is measured again.

A digest covers where the figures come from, the target, the code that made the record (see
``device_code``) and, of the configuration, what the device side is told. What only judging reads,
such as a margin, is in none.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from assay.catalog.model import Catalog
from assay.measuring.operator_kernels import offered
from assay.measuring.told import comparison_spec, protocol_spec, target_spec
from assay.pipeline.device_code import START, code_digest
from assay.records.base import Record
from assay.records.plan import Provision, Request, TargetPlan
from assay.shared.files import sha256_bytes
from assay.shared.strict_json import plain
from assay.shared.tasks import TASKS

STAGE_TASKS = {
    "platform": "device",
    "correctness": "correctness",
    "benchmark": "benchmark",
    "program": "program",
    "original": "original_run",
    "profile": "profile",
    "stopwatch": "stopwatch",
    "cheats": "cheats",
    "sanitizer": "sanitize",
    "operators": "operators",
}
"""The device side's task of each stage; making the image of a runner is none of its."""


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
        target = plain(target_spec(self.catalog.targets[self.plan.target]))
        runtime = "" if self.request.runtime == "host" else self.request.runtime
        parts = [_origin(self.plan.provision, stage), target, runtime]
        if self.request.device_paths:
            parts.append(list(self.request.device_paths))
        if stage in STAGE_TASKS:
            parts.append(code_digest([START, TASKS[STAGE_TASKS[stage]].full_module]))
        if stage in ("program", "original"):
            parts.append(self.catalog.judging.program_runs)
        if stage == "correctness":
            parts.append(self.catalog.judging.correctness_seeds)
        if comparison is not None:
            parts += self._configuration(stage, comparison)
        return _digest(parts)

    def _configuration(self, stage: str, comparison: str) -> Iterator[Any]:
        # Which binaries the arms run, the job says, and the workflow by its inputs.
        yield plain(comparison_spec(self.catalog, comparison, {}))
        if stage == "benchmark":
            protocol = self.catalog.comparisons[comparison].protocol
            yield plain(protocol_spec(self.catalog.protocols[protocol]))
        if stage in ("profile", "stopwatch"):
            yield self.catalog.comparisons[comparison].profile

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
            jobs = self.plan.programs
            told = [list(self.catalog.programs[job.program].verify) for job in jobs]
            return [[_content(job), verify] for job, verify in zip(jobs, told, strict=True)]
        if stage == "original":
            return [_content(job) for job in self.plan.originals]
        if stage == "operators":
            kernels = offered(self.catalog, self.plan.target)
            return [*self.plan.operators, *(_content(kernel) for kernel in kernels)]
        return list(
            {"profile": self.plan.profiles, "sanitizer": self.plan.sanitized}.get(stage, ())
        )


def _origin(provision: Provision, stage: str) -> Any:
    """Return where figures come from. On how many GPUs of a machine no measurement rests, nor on
    whether they are still here; the platform's record lists them.
    """
    origin = _content(provision)
    if provision.gpus:
        del origin["detail"]
        origin["absence"] = None
        if stage != "platform":
            del origin["gpus"]
    return origin


def _content(record: Record) -> Any:
    return record.model_dump(mode="json", by_alias=True)


def _digest(parts: list[Any]) -> str:
    return sha256_bytes(json.dumps(parts, sort_keys=True).encode())
