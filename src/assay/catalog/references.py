"""References between the files of a catalog: what is named exists, and may stand where it does."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from assay.base.errors import BadInput
from assay.base.yaml_problems import suggest
from assay.catalog.model import Catalog
from assay.catalog.published_files import check_published_files
from assay.records.arithmetic import Operand
from assay.records.claims import Audit, Claim
from assay.records.evaluations import (
    Accuracy,
    Arithmetic,
    Benchmark,
    Derived,
    DeviceCode,
    Evaluation,
    Execution,
    Metric,
    Program,
    Quantity,
    Support,
    Term,
    Unanswerable,
)
from assay.records.kernels import OperatorKernel, Variant
from assay.records.originals import FigurePattern
from assay.records.readings import Reading
from assay.records.tuning import TuningChoice
from assay.records.workloads import Arm, Comparison, Operation, Workload
from assay.shared.expressions import parse
from assay.shared.formula_names import names_of_operation, names_of_program

T = TypeVar("T")


@dataclass(frozen=True)
class ReferenceProblem:
    """A name that names nothing, or may not stand where it does."""

    of: str
    """Id of the claim, audit, comparison or other entry that has it."""
    says: str


def check_references(catalog: Catalog) -> None:
    """Check that every id that is named exists, and may be named there.

    Raises BadInput for the first that does not.
    """
    for problem in reference_problems(catalog):
        raise BadInput(problem.says)


def reference_problems(catalog: Catalog) -> Iterator[ReferenceProblem]:
    """Yield the first problem of every entry whose names do not all fit."""
    for of, check in _checks(catalog):
        try:
            check()
        except BadInput as error:
            yield ReferenceProblem(of, str(error))


def _checks(catalog: Catalog) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield (id, what checks it) of every entry, claims' own files first after what they name."""
    for comparison in catalog.comparisons.values():
        yield comparison.id, partial(_check_comparison, catalog, comparison)
    for variant in catalog.variants.values():
        if variant.rival is not None:
            where = f"variant '{variant.id}'"
            yield variant.id, partial(_known, where, "rival", variant.rival, catalog.rivals)
    for claim in catalog.claims.values():
        yield claim.id, partial(_check_claim, catalog, claim)
    for audit in catalog.audits.values():
        yield audit.id, partial(_check_audit, catalog, audit)
    yield "", partial(_check_originals, catalog)
    yield "", partial(check_published_files, catalog)
    for entry in catalog.operators:
        yield entry.variant, partial(_check_operator, catalog, entry)
    for choice in catalog.tuning.choices:
        where = f"tuning.yaml: choice '{choice.id}'"
        yield choice.id, partial(_check_choice, catalog, where, choice)


def _file_of(catalog: Catalog, source: str) -> str:
    """Return how a message calls what a claim stands in: its file, but of a project, which has one,
    that is said already.
    """
    return f"{source}.yaml: " if catalog.project is None else ""


def _check_comparison(catalog: Catalog, comparison: Comparison) -> None:
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


def _check_claim(catalog: Catalog, claim: Claim) -> None:
    where = f"{_file_of(catalog, catalog.source_of[claim.id])}claim '{claim.id}'"
    for target in claim.hardware.targets:
        _known(where, "target", target, catalog.targets)
    _check_evaluation(catalog, where, claim.evaluation)
    _check_flops(catalog, where, claim)
    for reading in claim.readings:
        _check_reading(catalog, f"{where}: reading '{reading.id}'", claim, reading)


def _check_audit(catalog: Catalog, audit: Audit) -> None:
    where = f"{_file_of(catalog, catalog.source_of[audit.id])}audit '{audit.id}'"
    _check_operands(catalog, where, audit.operands)
    if audit.claimed is not None:
        _check_operands(catalog, where, (audit.claimed,))


def _check_originals(catalog: Catalog) -> None:
    """A source's own program has an id of its own, and answers what that source claims."""
    owners: dict[str, str] = {}
    for source, claims_file in catalog.sources.items():
        original = claims_file.original
        if original is None:
            continue
        where = f"{source}.yaml: original '{original.id}'"
        if (other := owners.setdefault(original.id, source)) != source:
            raise BadInput(f"{where}: source {other} has one of that id")
        for figure in original.figures:
            _known(where, "claim", figure.claim, catalog.claims)
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
    _known("kernel.yaml: operators", "variant", entry.variant, catalog.variants)
    variant = catalog.variants[entry.variant]
    if variant.kind != "kernel" or (variant.abi == "bsr_bsr_gemm") != (entry.block_b is not None):
        raise BadInput(
            f"kernel.yaml: operators: {entry.variant} must be a compiled kernel, and have block_b "
            "where B is sparse, and only there"
        )
    if (variant.abi == "block_sparse_attention") != (entry.head_dim is not None):
        raise BadInput(
            f"kernel.yaml: operators: {entry.variant} must have head_dim where it is attention, "
            "and only there"
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


def _check_evaluation(
    catalog: Catalog, where: str, evaluation: Evaluation, *, reading: bool = False
) -> None:
    match evaluation:
        case Arithmetic():
            _check_operands(catalog, where, evaluation.operands)
        case Benchmark():
            for term in evaluation.terms:
                _check_term(catalog, where, term, reading=reading)
            for quantity in evaluation.alternatives:
                _check_term(catalog, where, quantity.term, reading=reading)
        case Program():
            _known(where, "program", evaluation.program, catalog.programs)
        case Derived():
            _check_derived(catalog, where, evaluation)
        case Accuracy():
            _check_term(catalog, where, evaluation.term)
        case Support() | Execution() | DeviceCode():
            _check_support(catalog, where, evaluation)
        case Unanswerable():
            _check_nearest(catalog, where, evaluation)


def _check_support(
    catalog: Catalog, where: str, evaluation: Support | Execution | DeviceCode
) -> None:
    if isinstance(evaluation, DeviceCode):
        _known(where, "rival", evaluation.rival, catalog.rivals)
        return
    terms = [quantity.term for quantity in evaluation.nearest]
    if isinstance(evaluation, Support):
        _known(where, "probe", evaluation.probe, {**catalog.probes, **catalog.programs})
    else:
        terms += evaluation.terms
    for term in terms:
        _check_term(catalog, where, term)


def _check_derived(catalog: Catalog, where: str, evaluation: Derived) -> None:
    """Check that both parts exist, are measured themselves, and that one has the reading meant."""
    names = (evaluation.numerator, evaluation.denominator)
    for name in names:
        _known(where, "claim", name, catalog.claims)
        if isinstance(catalog.claims[name].evaluation, Derived):
            raise BadInput(f"{where}: is derived from '{name}', which is itself derived")
    readings = {r.id for name in names for r in catalog.claims[name].all_readings()}
    if evaluation.under is not None and evaluation.under not in readings:
        raise BadInput(f"{where}: neither part has a reading '{evaluation.under}'")


def _check_reading(catalog: Catalog, where: str, claim: Claim, reading: Reading) -> None:
    """Check what a reading runs; it alone may rest on arms that are timed for readings."""
    _check_evaluation(catalog, where, reading.evaluation, reading=True)
    if reading.flops is not None:
        _check_flops(catalog, where, claim.under(reading))


def _check_flops(catalog: Catalog, where: str, claim: Claim) -> None:
    """Check that a formula for FLOPs is of a rate, and names what every problem measured has."""
    if claim.flops is None:
        return
    for what, known in _formula_names(catalog, where, claim.evaluation):
        for name in sorted(parse(claim.flops).names - known):
            raise BadInput(
                f"{where}: '{claim.flops}' names '{name}', which {what} does not have; known: "
                f"{', '.join(sorted(known))}"
            )


def _formula_names(
    catalog: Catalog, where: str, evaluation: Evaluation
) -> Iterable[tuple[str, frozenset[str]]]:
    """Yield what a formula may name of each problem that an evaluation measures, with its name."""
    match evaluation:
        case Benchmark(metric=Metric.RATE | Metric.RATE_RATIO, terms=terms):
            for term in terms:
                for arm in catalog.comparisons[term.comparison].arms:
                    if arm.id in (term.arm, term.over):
                        workload = catalog.workloads[arm.workload]
                        yield workload.operation.value, names_of_problem(workload)
        case Program(program=program):
            yield program, names_of_program(catalog.programs[program].parser)
        case _:
            raise BadInput(f"{where}: a formula for FLOPs (flops) is of a measured rate")


def names_of_problem(workload: Workload) -> frozenset[str]:
    """Return what a formula may name of a problem: of a project's function its own parameters."""
    if workload.operation is Operation.CALLABLE:
        return frozenset(
            name for name, value in workload.parameters.items() if isinstance(value, int | float)
        )
    return names_of_operation(workload.operation.value)


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


def _known(where: str, noun: str, name: str, known: Mapping[str, T]) -> None:
    if name not in known:
        raise BadInput(f"{where}: there is no {noun} '{name}'{suggest(name, known)}")
