"""What is wrong with a project's measurements: arms that would not be compiled, numbers that leave
nothing to judge.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from assay.base.errors import BadInput
from assay.base.io import read_text
from assay.base.yaml_problems import suggest
from assay.catalog.model import Catalog
from assay.judging.impossible_figures import uncomputable
from assay.records.evaluations import Benchmark
from assay.records.figure_words import short
from assay.records.kernels import Variant
from assay.records.workload_specs import workload_spec
from assay.records.workloads import Workload
from assay.shared.read_limits import MOST_CODE
from assay.statistics.roofline import compute_ms

MOST_BYTES = 1e12
"""More than any GPU's memory holds."""
LONGEST_LAUNCH_MS = 60e3
"""At the peak of the fastest GPU; a measurement has hundreds of launches."""


def compiled_arms_problems(
    catalog: Catalog, folder: Path, measurement: str
) -> Iterator[tuple[str, str]]:
    """Yield (arm, what is wrong with it) of the arms of a measurement that are compiled."""
    targets = _targets_of(catalog, measurement)
    for arm in catalog.comparisons[measurement].arms:
        variant = catalog.variants[arm.variant]
        if variant.kind == "kernel":
            for problem in _problems(catalog, folder, variant, targets):
                yield arm.id, f"measurement '{measurement}': arm '{arm.id}': {problem}"


def _targets_of(catalog: Catalog, measurement: str) -> list[str]:
    """Return the targets of the claims that a measurement answers."""
    return sorted(
        {
            target
            for claim in catalog.claims.values()
            if isinstance(claim.evaluation, Benchmark)
            and any(term.comparison == measurement for term in claim.evaluation.terms)
            for target in claim.hardware.targets
            if target in catalog.targets  # which is said elsewhere
        }
    )


def _problems(
    catalog: Catalog, folder: Path, variant: Variant, targets: list[str]
) -> Iterator[str]:
    file = variant.source or ""
    try:
        text = read_text(folder / file, MOST_CODE)
    except BadInput as error:
        yield str(error)
        return
    if re.search(rf"\b{variant.symbol}\s*\(", text) is None:
        defined = re.findall(r"\b([A-Za-z_]\w*)\s*\(", text)
        yield f"{file} defines no '{variant.symbol}'{suggest(variant.symbol or '', defined)}"
    elif 'extern "C"' not in text:
        yield f'{file} has no extern "C" in it: nobody would find its launcher'
    for target in targets:
        arch = catalog.targets[target].arch
        if arch not in variant.archs:
            says = f"archs: it is not compiled for {arch}, which {target} of a claim needs"
            yield f"{says}: add {arch}"


def meaningless_numbers(catalog: Catalog) -> Iterator[tuple[str, str, str]]:
    """Yield (entry, its part, what is wrong with it): of relations, too, that have no value."""
    yield from ((name, "", says) for name, says in uncomputable(catalog))
    for claim in catalog.claims.values():
        for says in _too_coarse(claim.value, claim.resolution):
            yield claim.id, "resolution", says
    for audit in catalog.audits.values():
        for operand in filter(None, (*audit.operands, audit.claimed)):
            for each in operand.parts():
                for says in _too_coarse(each.value, each.resolution):
                    yield audit.id, "", says
    for name in sorted(catalog.project.measures if catalog.project else ()):
        for part, says in _of_measurement(catalog, catalog.workloads[name]):
            yield name, part, says


def _too_coarse(value: float | None, resolution: float | None) -> Iterator[str]:
    """Yield that a figure stands for anything from nothing on."""
    if value and resolution and resolution > value:
        figures = f"{short(resolution)} is more than the figure itself, {short(value)}"
        yield f"resolution: {figures}: it is one unit of the figure's last digit"


def _of_measurement(catalog: Catalog, workload: Workload) -> Iterator[tuple[str, str]]:
    if workload.relative_tolerance >= 1:
        says = f"relative_tolerance: {short(workload.relative_tolerance)} lets zeros pass"
        yield "relative_tolerance", f"{says} for any answer: it is below 1"
    spec = workload_spec(workload)
    if (moved := spec.counted(spec.bytes)) > MOST_BYTES:
        says = f"bytes: a launch moves {short(moved / 1e9)} GB"
        yield "parameters", f"{says}, more than the memory of any GPU holds"
    least = min(
        compute_ms(spec.counted(spec.flops), target.peaks, workload.dtype)
        for target in catalog.targets.values()
    )
    if least > LONGEST_LAUNCH_MS:
        says = f"flops: a launch takes at least {short(least / 1e3)} s on the fastest GPU"
        yield "parameters", f"{says}, and is measured hundreds of times"
