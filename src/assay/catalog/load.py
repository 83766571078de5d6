"""The catalog: every claim, target, workload, comparison and kernel, read and cross-checked."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from assay.base.errors import BadInput
from assay.base.io import load_yaml
from assay.catalog.model import NO_TUNING, Catalog
from assay.records.arithmetic import Operand
from assay.records.claims import (
    Audit,
    Claim,
    ClaimsFile,
)
from assay.records.evaluations import (
    Arithmetic,
    Benchmark,
    Derived,
    Program,
    Quantity,
    Support,
    Term,
    Unanswerable,
)
from assay.records.kernels import KernelManifest, OperatorKernel, Variant
from assay.records.targets import Target
from assay.records.tuning import TuningChoice, TuningFile
from assay.records.workloads import (
    Arm,
    ComparisonsFile,
    Judging,
    ProtocolsFile,
    Workload,
    WorkloadsFile,
)

T = TypeVar("T")


def load_catalog(root: Path) -> Catalog:
    """Read ``config/`` and ``kernels/*/kernel.yaml`` below ``root`` and check every reference.

    Works on the repository and on a report's evidence directory alike. Raises BadInput.
    """
    sources: dict[str, ClaimsFile] = {}
    claims: dict[str, Claim] = {}
    audits: dict[str, Audit] = {}
    source_of: dict[str, str] = {}
    for path in _yaml_files(root / "config" / "claims"):
        claims_file = load_yaml(ClaimsFile, path)
        if path.stem != claims_file.source.id:
            raise BadInput(f"{path}: its source id is '{claims_file.source.id}', not the file name")
        sources[claims_file.source.id] = claims_file
        entries: tuple[Claim | Audit, ...] = (*claims_file.claims, *claims_file.audits)
        for entry in entries:
            if entry.id in source_of:
                other = source_of[entry.id]
                raise BadInput(f"{path}: claim id '{entry.id}' is given twice (see {other}.yaml)")
            source_of[entry.id] = claims_file.source.id
        claims.update((claim.id, claim) for claim in claims_file.claims)
        audits.update((audit.id, audit) for audit in claims_file.audits)

    kernels = [
        (path, load_yaml(KernelManifest, path))
        for path in sorted((root / "kernels").glob("*/kernel.yaml"))
    ]
    catalog = Catalog(
        sources=sources,
        claims=claims,
        audits=audits,
        source_of=source_of,
        targets=_by_id(
            root / "config" / "targets", lambda p: (load_yaml(Target, p),), lambda t: t.id
        ),
        workloads=_by_id(
            root / "config" / "workloads",
            lambda p: load_yaml(WorkloadsFile, p).workloads,
            lambda w: w.id,
        ),
        comparisons=_by_id(
            root / "config" / "comparisons",
            lambda p: load_yaml(ComparisonsFile, p).comparisons,
            lambda c: c.id,
        ),
        protocols={
            protocol.id: protocol
            for protocol in load_yaml(ProtocolsFile, root / "config" / "protocols.yaml").protocols
        },
        variants=_unique((v.id, v, path) for path, kernel in kernels for v in kernel.variants),
        programs=_unique((p.id, p, path) for path, kernel in kernels for p in kernel.programs),
        probes=_unique((p.id, p, path) for path, kernel in kernels for p in kernel.probes),
        kernel_folder={
            name: path.parent.name
            for path, kernel in kernels
            for name in (*(v.id for v in kernel.variants), *(p.id for p in kernel.probes))
        },
        judging=load_yaml(Judging, root / "config" / "judging.yaml"),
        tuning=_tuning(root / "config" / "tuning.yaml"),
        operators=tuple(entry for _, kernel in kernels for entry in kernel.operators),
    )
    _check_references(catalog)
    return catalog


def catalog_files(root: Path) -> list[str]:
    """What a catalog is read from and a report carries of it, relative to ``root``."""
    found = [path for path in (root / "config").rglob("*.yaml") if path.is_file()]
    found += (root / "kernels").glob("*/kernel.yaml")
    return sorted(path.relative_to(root).as_posix() for path in found)


def _tuning(path: Path) -> TuningFile:
    return load_yaml(TuningFile, path) if path.is_file() else NO_TUNING


def _yaml_files(folder: Path) -> list[Path]:
    files = sorted(folder.glob("*.yaml"))
    if not files:
        raise BadInput(f"{folder}: holds no .yaml file")
    return files


def _unique(entries: Iterable[tuple[str, T, Path]]) -> dict[str, T]:
    found: dict[str, T] = {}
    for key, value, path in entries:
        if key in found:
            raise BadInput(f"{path}: id '{key}' is given twice")
        found[key] = value
    return found


def _by_id(
    folder: Path, load: Callable[[Path], Iterable[T]], key: Callable[[T], str]
) -> dict[str, T]:
    return _unique((key(v), v, path) for path in _yaml_files(folder) for v in load(path))


def _check_references(catalog: Catalog) -> None:
    """Every id that is named exists. Raises BadInput for the first that does not."""
    for comparison in catalog.comparisons.values():
        where = f"comparison '{comparison.id}'"
        _known(where, "protocol", comparison.protocol, catalog.protocols)
        for arm in comparison.arms:
            _known(where, "variant", arm.variant, catalog.variants)
            _known(where, "workload", arm.workload, catalog.workloads)
            variant, workload = catalog.variants[arm.variant], catalog.workloads[arm.workload]
            if variant.operation is not workload.operation:
                raise BadInput(
                    f"{where}: arm '{arm.id}' runs {variant.operation.value} on a "
                    f"{workload.operation.value} workload"
                )
            _check_arm(where, arm, variant, workload)
    for claim in catalog.claims.values():
        where = f"{catalog.source_of[claim.id]}.yaml: claim '{claim.id}'"
        if claim.hardware.target is not None:
            _known(where, "target", claim.hardware.target, catalog.targets)
        _check_evaluation(catalog, where, claim)
    for audit in catalog.audits.values():
        where = f"{catalog.source_of[audit.id]}.yaml: audit '{audit.id}'"
        _check_operands(catalog, where, audit.operands)
        if audit.claimed is not None:
            _check_operands(catalog, where, (audit.claimed,))
    for entry in catalog.operators:
        _check_operator(catalog, entry)
    for choice in catalog.tuning.choices:
        _check_choice(catalog, f"tuning.yaml: choice '{choice.id}'", choice)


def _check_arm(where: str, arm: Arm, variant: Variant, workload: Workload) -> None:
    """A kernel writes the output that its problem has, and what may be timed for readings alone is
    marked.
    """
    if variant.output_dtype != workload.output_dtype:
        raise BadInput(
            f"{where}: arm '{arm.id}' writes {variant.output_dtype or workload.dtype}, and "
            f"'{workload.id}' wants {workload.output_dtype or workload.dtype}"
        )
    why = workload.for_readings_only
    if why is not None and not arm.reading_only:
        raise BadInput(f"{where}: arm '{arm.id}' must be reading_only, for {why}")


def _check_operator(catalog: Catalog, entry: OperatorKernel) -> None:
    """An operator calls a compiled kernel, and says what blocks each sparse operand has."""
    _known("kernel.yaml: operators", "variant", entry.variant, catalog.variants)
    variant = catalog.variants[entry.variant]
    if variant.kind != "kernel" or (variant.abi == "bsr_bsr_gemm") != (entry.block_b is not None):
        raise BadInput(
            f"kernel.yaml: operators: {entry.variant} must be a compiled kernel, and have block_b "
            "where B is sparse, and only there"
        )


def _check_choice(catalog: Catalog, where: str, choice: TuningChoice) -> None:
    """The choice is one of its sweep's arms, made on a problem it is for, and its target has it."""
    _known(where, "target", choice.target, catalog.targets)
    _known(where, "variant", choice.variant, catalog.variants)
    name = choice.evidence.comparison
    _known(where, "comparison", name, catalog.comparisons)
    arms = {arm.id: arm for arm in catalog.comparisons[name].arms}
    _known(where, f"arm of '{name}'", choice.evidence.arm, arms)
    if marked := [arm.id for arm in arms.values() if arm.reading_only]:
        raise BadInput(
            f"{where}: '{name}' measures '{marked[0]}' for readings only, and no rival is such"
        )
    arm = arms[choice.evidence.arm]
    if arm.variant != choice.variant:
        raise BadInput(
            f"{where}: arm '{arm.id}' of '{name}' is variant '{arm.variant}', not "
            f"'{choice.variant}'"
        )
    if catalog.targets[choice.target].arch not in catalog.variants[choice.variant].archs:
        raise BadInput(f"{where}: '{choice.variant}' is not built for {choice.target}")
    objection = choice.objection(catalog.workloads[arm.workload])
    if objection is not None:
        raise BadInput(f"{where}: its evidence is taken on '{arm.workload}', which {objection}")


def _check_evaluation(catalog: Catalog, where: str, claim: Claim) -> None:
    evaluation = claim.evaluation
    match evaluation:
        case Arithmetic():
            _check_operands(catalog, where, evaluation.operands)
        case Benchmark():
            for term in evaluation.terms:
                _check_term(catalog, where, term)
            for quantity in evaluation.alternatives:
                _check_term(catalog, where, quantity.term)
        case Program():
            _known(where, "program", evaluation.program, catalog.programs)
        case Derived():
            for name in (evaluation.numerator, evaluation.denominator):
                _known(where, "claim", name, catalog.claims)
                if isinstance(catalog.claims[name].evaluation, Derived):
                    raise BadInput(f"{where}: is derived from '{name}', which is itself derived")
        case Support():
            _known(where, "probe", evaluation.probe, {**catalog.probes, **catalog.programs})
            for quantity in evaluation.nearest:
                _check_term(catalog, where, quantity.term)
        case Unanswerable():
            _check_nearest(catalog, where, evaluation)


def _check_nearest(catalog: Catalog, where: str, evaluation: Unanswerable) -> None:
    for nearest in evaluation.nearest:
        if isinstance(nearest, Quantity):
            _check_term(catalog, where, nearest.term)
        else:
            _known(where, "claim", nearest, catalog.claims)


def _check_term(catalog: Catalog, where: str, term: Term, *, reading: bool = False) -> None:
    """Arms exist; one that is timed for readings only answers none but a reading.

    Nor is anything held against it, but another of its kind: a quotient of two stages of a program
    that is wrong in both.
    """
    _known(where, "comparison", term.comparison, catalog.comparisons)
    arms = {arm.id: arm for arm in catalog.comparisons[term.comparison].arms}
    for name in (term.arm, term.over):
        if name is not None:
            _known(where, f"arm of '{term.comparison}'", name, arms)
    if arms[term.arm].reading_only and not reading:
        raise BadInput(
            f"{where}: rests on arm '{term.arm}' of '{term.comparison}', which is timed for "
            "readings only"
        )
    rival = term.over is not None and arms[term.over].reading_only
    if rival and not arms[term.arm].reading_only:
        raise BadInput(
            f"{where}: holds '{term.arm}' against arm '{term.over}' of '{term.comparison}', which "
            "is timed for readings only"
        )


def _check_operands(catalog: Catalog, where: str, operands: Iterable[Operand]) -> None:
    """Check that claims named carry a value; they, and places, may be those of other sources."""
    for operand in (part for whole in operands for part in whole.parts()):
        if operand.place is not None and operand.place.source is not None:
            _known(where, "source", operand.place.source, catalog.sources)
        if operand.claim is None:
            continue
        _known(where, "claim", operand.claim, catalog.claims)
        if catalog.claims[operand.claim].value is None:
            raise BadInput(f"{where}: '{operand.claim}' carries no value to compute with")


def _known(where: str, noun: str, name: str, known: dict[str, T]) -> None:
    if name not in known:
        raise BadInput(f"{where}: there is no {noun} '{name}'")
