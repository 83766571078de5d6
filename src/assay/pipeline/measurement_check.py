"""What is wrong with a project's measurements: arms that would not be compiled."""

import re
from collections.abc import Iterator
from pathlib import Path

from assay.base.errors import BadInput
from assay.base.io import read_text
from assay.base.yaml_problems import suggest
from assay.catalog.model import Catalog
from assay.judging.impossible_figures import uncomputable
from assay.records.evaluations import Benchmark
from assay.records.kernels import Variant
from assay.records.units import short
from assay.shared.read_limits import MOST_CODE


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
    given = [(claim.id, "resolution", claim.value, claim.resolution)
             for claim in catalog.claims.values()]  # fmt: skip
    for audit in catalog.audits.values():
        for operand in filter(None, (*audit.operands, audit.claimed)):
            given += [(audit.id, "", each.value, each.resolution) for each in operand.parts()]
    for name, part, value, resolution in given:
        if value and resolution and resolution > value:
            figures = f"{short(resolution)} is more than the figure itself, {short(value)}"
            yield name, part, f"resolution: {figures}: it is one unit of the figure's last digit"
    for name in sorted(catalog.project.measures if catalog.project else ()):
        if (tolerance := catalog.workloads[name].relative_tolerance) >= 1:
            says = f"relative_tolerance: {short(tolerance)} lets zeros pass for any answer"
            yield name, "relative_tolerance", f"{says}: it is below 1"
