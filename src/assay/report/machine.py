"""The machine's part of the report: what was compiled, in which images, where it ran."""

import math
from collections.abc import Iterable, Iterator, Sequence

from assay.evidence import stages
from assay.evidence.model import Evidence
from assay.findings.binary_matches import BinaryMatch, Sameness
from assay.records.builds import BuildRecord
from assay.records.timings import Stage
from assay.report import formatting as fmt

BESIDE = {
    Sameness.FILE: "identical to {}",
    Sameness.DEVICE_CODE: "device code identical to that of {}, host code by another compiler",
    Sameness.INSTRUCTIONS: "machine code identical to that of {}, line tables of another source "
    "text",
    Sameness.CHANGED: "from a later text of its source than {}",
}
"""How a build stands to the measured binary of its name; it differs where it stands otherwise."""
MADE = {
    "debian": "made of Debian packages",
    "registry": "pulled by digest",
    "host": "the GPU machine's own files",
}


def build_rows(evidence: Evidence, measured: Sequence[BinaryMatch]) -> Iterator[fmt.Row]:
    """Yield every compilation of the plan, each beside the measured binary of the same name."""
    for job in evidence.plan.builds:
        if (record := evidence.builds.get((job.id, job.arch))) is not None:
            beside = [m for m in measured if (m.artifact, m.arch) == (job.id, job.arch)]
            yield _build(record, job.kind, beside)


def _build(record: BuildRecord, kind: str, measured: Sequence[BinaryMatch]) -> fmt.Row:
    resources = record.resources
    where = [
        BESIDE.get(m.sameness, f"differs from {{}} ({fmt.short_hash(m.measured_sha256)})").format(
            f"the one measured on {m.target}"
        )
        for m in measured
    ] or ["not measured"]
    if record.built_elsewhere:
        where.append("built elsewhere")
    return {
        "record": record,
        "kind": kind,
        "registers": _span(r.registers for r in resources),
        "spills": _span(r.spill_store_bytes + r.spill_load_bytes for r in resources),
        "shared": _span(r.static_shared_bytes for r in resources),
        "stack": _span(r.stack_bytes for r in resources),
        "sha256": record.artifact.sha256 if record.artifact else "",
        "where": "; ".join(where),
        "link": fmt.link(f"evidence/{stages.build_path(record.id, record.arch)}"),
    }


def _span(values: Iterable[int]) -> str:
    found = sorted(set(values))
    return " to ".join(map(str, dict.fromkeys((found[0], found[-1])))) if found else fmt.NOTHING


def image_rows(evidence: Evidence) -> Iterator[fmt.Row]:
    """Yield images that compiled, then images that measured."""
    for role, records, place in (
        ("compiles", evidence.toolchain_images, stages.toolchain_image_path),
        ("measures", evidence.runner_images, stages.runner_image_path),
    ):
        for target, record in records.items():
            links = (fmt.link(evidence.place(place(target))),)
            yield {"record": record, "role": role, "links": links, "made": MADE[record.base.kind]}


def stage_rows(evidence: Evidence) -> list[tuple[str, int, str]]:
    """Return what each stage of the run took: its name, its steps, their time together."""
    steps = evidence.timings.steps if evidence.timings else ()
    of = {stage: [step.seconds for step in steps if step.stage is stage] for stage in Stage}
    return [
        (fmt.words(stage.value), len(seconds), fmt.duration(math.fsum(seconds)))
        for stage, seconds in of.items()
        if seconds
    ]
