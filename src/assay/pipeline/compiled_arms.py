"""What would keep a project's CUDA arms from being compiled for a target, found, or bound."""

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from assay.base.errors import BadInput
from assay.base.io import read_text
from assay.base.yaml_problems import suggest
from assay.catalog.model import Catalog
from assay.records.evaluations import Benchmark
from assay.records.kernels import Variant
from assay.records.workloads import Arm
from assay.shared.read_limits import MOST_CODE


def is_by_function(catalog: Catalog, arm: Arm) -> bool:
    """Return whether an arm is what the project's function returns under its name."""
    return catalog.variants[arm.variant].kind == "callable"


def compiled_arms_problems(
    catalog: Catalog, folder: Path, measurement: str, words: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield (arm, what is wrong with it) of the arms of a measurement that are compiled.

    ``words``: every name and text of its Python file, in which its inputs must be called something;
    none where nothing is known of it.
    """
    targets = _targets_of(catalog, measurement)
    for arm in catalog.comparisons[measurement].arms:
        variant = catalog.variants[arm.variant]
        if variant.kind == "kernel":
            for problem in _problems(catalog, folder, variant, words, targets):
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
    catalog: Catalog,
    folder: Path,
    variant: Variant,
    words: Collection[str],
    targets: list[str],
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
    for operand in variant.operands:
        if words and operand not in words:
            meant = suggest(operand, words)
            yield f"operands: nothing in the Python file is called '{operand}'{meant}"
    for target in targets:
        arch = catalog.targets[target].arch
        if arch not in variant.archs:
            says = f"archs: it is not compiled for {arch}, which {target} of a claim needs"
            yield f"{says}: add {arch}"
