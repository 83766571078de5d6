"""References between the files of a catalog: what is named exists, and may stand where it does."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from assay.base.errors import BadInput
from assay.catalog.evaluation_references import (
    arm_of,
    check_evaluation,
    check_formed,
    check_formulas,
    check_operands,
    check_reading,
    require_known,
)
from assay.catalog.model import Catalog
from assay.records.claims import Audit, Claim
from assay.records.evaluations import (
    Benchmark,
    Compiles,
    Program,
    Unanswerable,
)
from assay.records.figure_places import places
from assay.records.kernels import OperatorKernel, Variant
from assay.records.originals import FigurePattern
from assay.records.tuning import TuningChoice, TuningSweep
from assay.records.workloads import Arm, Comparison, Workload


@dataclass(frozen=True)
class ReferenceProblem:
    """A name that names nothing, or may not stand where it does."""

    of: str
    """Id of the claim, audit, comparison or other entry that has it."""
    says: str
    part: str = ""
    """What of it does: target, answer, protocol."""


def check_references(catalog: Catalog) -> None:
    """Raise BadInput for the first id that names nothing, or may not stand where it does, with the
    number of the others.
    """
    found = list(reference_problems(catalog))
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise BadInput(f"{found[0].says}{more}")


def reference_problems(catalog: Catalog) -> Iterator[ReferenceProblem]:
    """Yield what is wrong with entries whose names do not all fit, once for each part of one."""
    for of, part, check in _checks(catalog):
        try:
            check()
        except BadInput as error:
            yield ReferenceProblem(of, str(error), part)


def _checks(catalog: Catalog) -> Iterator[tuple[str, str, Callable[[], None]]]:
    """Yield (id, part, what checks it) of every entry, claims' own files first after what they
    name.
    """
    for comparison in catalog.comparisons.values():
        yield comparison.id, "protocol", partial(_check_protocol, catalog, comparison)
        yield comparison.id, "", partial(_check_comparison, catalog, comparison)
    for variant in catalog.variants.values():
        if variant.rival is not None:
            where = f"variant '{variant.id}'"
            known = partial(require_known, where, "rival", variant.rival, catalog.rivals)
            yield variant.id, "", known
    for claim in catalog.claims.values():
        for part, check in _claim_checks(catalog, claim):
            yield claim.id, part, check
    for audit in catalog.audits.values():
        yield audit.id, "", partial(_check_audit, catalog, audit)
    yield "", "", partial(_check_originals, catalog)
    yield "", "", partial(_check_findings, catalog)
    yield "", "", partial(_check_published_files, catalog)
    for entry in catalog.operators:
        yield entry.variant, "", partial(_check_operator, catalog, entry)
    for sweep in catalog.tuning.sweeps:
        yield sweep.id, "", partial(_check_sweep, catalog, sweep)
    for choice in catalog.tuning.choices:
        where = f"tuning.yaml: choice '{choice.id}'"
        yield choice.id, "", partial(_check_choice, catalog, where, choice)


def _file_of(catalog: Catalog, source: str) -> str:
    """Return how a message calls what a claim stands in: its file, but of a project, which has one,
    that is said already.
    """
    return f"{source}.yaml: " if catalog.project is None else ""


def _called(catalog: Catalog, comparison: Comparison) -> str:
    """Return how a message calls a comparison: of a project's people, by their word for it."""
    own = catalog.project is not None and comparison.id in catalog.project.measures
    return f"{'measurement' if own else 'comparison'} '{comparison.id}'"


def _check_protocol(catalog: Catalog, comparison: Comparison) -> None:
    where = _called(catalog, comparison)
    require_known(where, "protocol", comparison.protocol, catalog.protocols)


def _check_comparison(catalog: Catalog, comparison: Comparison) -> None:
    where = _called(catalog, comparison)
    for arm in comparison.arms:
        require_known(where, "variant", arm.variant, catalog.variants)
        require_known(where, "workload", arm.workload, catalog.workloads)
        variant, workload = catalog.variants[arm.variant], catalog.workloads[arm.workload]
        if variant.operation is not workload.operation:
            raise BadInput(
                f"{where}: arm '{arm.id}' runs {variant.operation.value} on a "
                f"{workload.operation.value} workload"
            )
        _check_arm(where, arm, variant, workload)


def _claim_checks(catalog: Catalog, claim: Claim) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield what checks each part of a claim: all that is wrong with it is told at once."""
    where = f"{_file_of(catalog, catalog.source_of[claim.id])}claim '{claim.id}'"
    for target in claim.hardware.targets:
        yield "target", partial(require_known, where, "target", target, catalog.targets)
    yield "answer", partial(_check_answer, catalog, where, claim)
    for reading in claim.readings:
        called = f"{where}: reading '{reading.id}'"
        yield "", partial(check_reading, catalog, called, claim, reading)


def _check_answer(catalog: Catalog, where: str, claim: Claim) -> None:
    check_evaluation(catalog, where, claim.evaluation)
    check_formulas(catalog, where, claim)
    check_formed(catalog, where, claim)


def _check_audit(catalog: Catalog, audit: Audit) -> None:
    where = f"{_file_of(catalog, catalog.source_of[audit.id])}audit '{audit.id}'"
    check_operands(catalog, where, audit.operands)
    if audit.claimed is not None:
        check_operands(catalog, where, (audit.claimed,))


def _check_findings(catalog: Catalog) -> None:
    """A finding rests on claims or audits, and takes its figures from those alone."""
    for source, claims_file in catalog.sources.items():
        for finding in claims_file.findings:
            where = f"{source}.yaml: finding '{finding.says[:40]}...'"
            for name in finding.when:
                require_known(where, "claim", name, catalog.source_of)
            if left := sorted({each.claim for each in places(finding.says)} - finding.when.keys()):
                raise BadInput(f"{where}: takes a figure of {left[0]}, which 'when' does not name")


def _check_originals(catalog: Catalog) -> None:
    """A source's own program has an id of its own, and answers what that source claims."""
    owners: dict[str, str] = {}
    for source, claims_file in catalog.sources.items():
        for original in claims_file.own_programs:
            where = f"{source}.yaml: original '{original.id}'"
            if (other := owners.setdefault(original.id, source)) != source:
                raise BadInput(f"{where}: source {other} has one of that id")
            for figure in original.figures:
                require_known(where, "claim", figure.claim, catalog.claims)
                claim = catalog.claims[figure.claim]
                if catalog.source_of[claim.id] != source:
                    raise BadInput(f"{where}: claim '{claim.id}' is another source's")
                _check_figure(where, claim, figure)


def _check_figure(where: str, claim: Claim, figure: FigurePattern) -> None:
    """What a program prints answers a measured claim, in a unit of the claim's kind."""
    if not isinstance(claim.evaluation, Benchmark | Program | Unanswerable):
        raise BadInput(f"{where}: claim '{claim.id}' is not answered by a measurement")
    if claim.unit is None or claim.unit.facts.base is None:
        raise BadInput(f"{where}: claim '{claim.id}' has no rate, time or ratio")
    if claim.unit.base is not figure.unit.base:
        raise BadInput(
            f"{where}: claim '{claim.id}' is in {claim.unit.value}, its figure in "
            f"{figure.unit.value}"
        )
    readings = {reading.id for reading in claim.all_readings()}
    if figure.counts is not None and figure.counts not in readings:
        raise BadInput(f"{where}: claim '{claim.id}' has no reading '{figure.counts}'")


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
    """An operator calls a compiled kernel, and says what blocks each sparse operand has, or of what
    head dimension an attention is.
    """
    require_known("kernel.yaml: operators", "variant", entry.variant, catalog.variants)
    variant = catalog.variants[entry.variant]
    for key, value, abi in (
        ("block_b", entry.block_b, "bsr_bsr_gemm"),
        ("head_dim", entry.head_dim, "block_sparse_attention"),
    ):
        if variant.kind != "kernel" or (variant.abi == abi) != (value is not None):
            raise BadInput(
                f"kernel.yaml: operators: {entry.variant} must be a compiled kernel, and have "
                f"{key} where it is {abi}, and only there"
            )


def _check_sweep(catalog: Catalog, sweep: TuningSweep) -> None:
    """A sweep begins with an arm, and the choice that would be made of it is one."""
    where = f"tuning.yaml: sweep '{sweep.id}'"
    arm = arm_of(catalog, where, sweep.begin.comparison, sweep.begin.arm)
    archs = sweep.archs or catalog.variants[arm.variant].archs
    for target in (each.id for each in catalog.targets.values() if each.arch in archs):
        try:
            choice = sweep.choice(target, arm.variant, catalog.workloads[arm.workload])
        except ValueError as error:
            raise BadInput(f"{where}: {error}") from error
        _check_choice(catalog, where, choice)


def _check_choice(catalog: Catalog, where: str, choice: TuningChoice) -> None:
    """The choice is one of its sweep's arms, made on a problem it is for, and its target has it."""
    require_known(where, "target", choice.target, catalog.targets)
    require_known(where, "variant", choice.variant, catalog.variants)
    name = choice.evidence.comparison
    arm = arm_of(catalog, where, name, choice.evidence.arm)
    marked = [each.id for each in catalog.comparisons[name].arms if each.reading_only]
    objection = choice.objection(catalog.workloads[arm.workload])
    if marked:
        says = f"'{name}' measures '{marked[0]}' for readings only, and no rival is such"
    elif arm.variant != choice.variant:
        says = f"arm '{arm.id}' of '{name}' is variant '{arm.variant}', not '{choice.variant}'"
    elif catalog.targets[choice.target].arch not in catalog.variants[choice.variant].archs:
        says = f"'{choice.variant}' is not built for {choice.target}"
    elif objection is not None:
        says = f"its evidence is taken on '{arm.workload}', which {objection}"
    else:
        return
    raise BadInput(f"{where}: {says}")


def _check_published_files(catalog: Catalog) -> None:
    """Raise BadInput for an id that two files have, and for a claim on a file or architecture that
    its source does not list.
    """
    owners: dict[str, str] = {}
    for source, claims_file in catalog.sources.items():
        for published in claims_file.compilations:
            if published.id in owners:
                raise BadInput(
                    f"{source}.yaml: compilation '{published.id}': source {owners[published.id]} "
                    "has one of that id"
                )
            owners[published.id] = source
    for claim in catalog.claims.values():
        if isinstance(claim.evaluation, Compiles):
            source = catalog.source_of[claim.id]
            listed = catalog.published_file(source, claim.evaluation.compilation)
            if listed is None or claim.evaluation.arch not in listed.archs:
                raise BadInput(
                    f"{source}.yaml: claim '{claim.id}': the source has no compilation "
                    f"'{claim.evaluation.compilation}' for {claim.evaluation.arch}"
                )
