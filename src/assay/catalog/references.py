"""References between the files of a catalog: what is named exists, and may stand where it does."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from assay.base.errors import BadInput
from assay.catalog.evaluation_references import arm_of, check_claim, check_operands, require_known
from assay.catalog.model import Catalog
from assay.records.evaluations import Benchmark, Compiles, Program, Unanswerable
from assay.records.kernels import Variant
from assay.records.originals import FigurePattern
from assay.records.rivals import TuningChoice, TuningSweep
from assay.records.units import places
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
    if found := reference_problems(catalog):
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise BadInput(f"{found[0].says}{more}")


def reference_problems(catalog: Catalog) -> list[ReferenceProblem]:
    """Return what is wrong with entries whose names do not all fit, once for each part of one;
    claims first after what they name.
    """
    found: list[ReferenceProblem] = []

    @contextmanager
    def checked(of: str, part: str = "") -> Iterator[None]:
        try:
            yield
        except BadInput as error:
            found.append(ReferenceProblem(of, str(error), part))

    for comparison in catalog.comparisons.values():
        where = _called(catalog, comparison)
        with checked(comparison.id, "protocol"):
            require_known(where, "protocol", comparison.protocol, catalog.protocols)
        with checked(comparison.id):
            _check_comparison(catalog, where, comparison)
    for variant in catalog.variants.values():
        with checked(variant.id):
            if variant.rival is not None:
                require_known(f"variant '{variant.id}'", "rival", variant.rival, catalog.rivals)
    for claim in catalog.claims.values():
        where = f"{_file_of(catalog, catalog.source_of[claim.id])}claim '{claim.id}'"
        for target in claim.hardware.targets:
            with checked(claim.id, "target"):
                require_known(where, "target", target, catalog.targets)
        with checked(claim.id, "answer"):
            check_claim(catalog, where, claim)
        for reading in claim.readings:
            with checked(claim.id):
                meant = claim.under(reading)
                check_claim(catalog, f"{where}: reading '{reading.id}'", meant, reading=True)
    for audit in catalog.audits.values():
        where = f"{_file_of(catalog, catalog.source_of[audit.id])}audit '{audit.id}'"
        with checked(audit.id):
            check_operands(catalog, where, filter(None, (*audit.operands, audit.claimed)))
    programs = ((source, each) for source, file in catalog.sources.items()
                for each in file.own_programs)  # fmt: skip
    for source, figure in ((source, each) for source, one in programs for each in one.figures):
        with checked(figure.claim, "answer"):
            _check_figure(catalog, source, figure)
    for check in (_check_programs, _check_findings, _check_published_files):
        with checked(""):
            check(catalog)
    for sweep in catalog.tuning.sweeps:
        with checked(sweep.id):
            _check_sweep(catalog, sweep)
    for choice in catalog.tuning.choices:
        with checked(choice.id):
            _check_choice(catalog, f"tuning.yaml: choice '{choice.id}'", choice)
    return found


def _file_of(catalog: Catalog, source: str) -> str:
    """Return how a message calls what a claim stands in: its file, but of a project, which has one,
    that is said already.
    """
    return f"{source}.yaml: " if catalog.project is None else ""


def _called(catalog: Catalog, comparison: Comparison) -> str:
    """Return how a message calls a comparison: of a project's people, by their word for it."""
    own = catalog.project is not None and comparison.id in catalog.project.measures
    return f"{'measurement' if own else 'comparison'} '{comparison.id}'"


def _check_comparison(catalog: Catalog, where: str, comparison: Comparison) -> None:
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


def _check_findings(catalog: Catalog) -> None:
    """A finding rests on claims or audits, and takes its figures from those alone."""
    for source, claims_file in catalog.sources.items():
        for finding in claims_file.findings:
            where = f"{source}.yaml: finding '{finding.says[:40]}...'"
            for name in finding.when:
                require_known(where, "claim", name, catalog.source_of)
            if left := sorted({each.claim for each in places(finding.says)} - finding.when.keys()):
                raise BadInput(f"{where}: takes a figure of {left[0]}, which 'when' does not name")


def _check_programs(catalog: Catalog) -> None:
    """A source's own program has an id of its own."""
    owners: dict[str, str] = {}
    for source, claims_file in catalog.sources.items():
        for original in claims_file.own_programs:
            if (other := owners.setdefault(original.id, source)) != source:
                where = f"{source}.yaml: original '{original.id}'"
                raise BadInput(f"{where}: source {other} has one of that id")


def _check_figure(catalog: Catalog, source: str, figure: FigurePattern) -> None:
    """What a source's own program prints answers what that source claims to have measured, in a
    unit of the claim's kind.
    """
    where = f"{_file_of(catalog, source)}claim '{figure.claim}'"
    require_known(where, "claim", figure.claim, catalog.claims)
    claim = catalog.claims[figure.claim]
    if catalog.source_of[claim.id] != source:
        raise BadInput(f"{where}: is not one of source '{source}', whose program prints it")
    if not isinstance(claim.evaluation, Benchmark | Program | Unanswerable):
        raise BadInput(f"{where}: is not answered by a measurement, and a program prints it")
    if claim.unit is None or claim.unit.facts.base is None:
        unit = claim.unit.typed if claim.unit else "none"
        raise BadInput(
            f"{where}: its program prints rates, times and ratios, and its unit is {unit}"
        )
    if claim.unit.base is not figure.unit.base:
        printed = f"its program prints {figure.unit.typed}"
        raise BadInput(f"{where}: is in {claim.unit.typed}, and {printed}")
    readings = {reading.id for reading in claim.all_readings()}
    if figure.counts is not None and figure.counts not in readings:
        raise BadInput(f"{where}: has no reading '{figure.counts}'")


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
    if arm.variant != choice.variant:
        says = f"arm '{arm.id}' of '{name}' is variant '{arm.variant}', not '{choice.variant}'"
    elif catalog.targets[choice.target].arch not in catalog.variants[choice.variant].archs:
        says = f"'{choice.variant}' is not built for {choice.target}"
    elif objection := choice.objection(catalog.workloads[arm.workload]):
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
