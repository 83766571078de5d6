"""References between the files of a catalog: what is named exists, and may stand where it does."""

import fnmatch
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from assay.base.errors import BadInput
from assay.base.yaml_problems import suggest
from assay.catalog.formula_names import OUTPUTS, names_of_operation, names_of_program
from assay.catalog.model import Catalog
from assay.records.arithmetic import Operand
from assay.records.claims import Claim, SourceFinding
from assay.records.evaluations import (
    PRINTED,
    Arithmetic,
    Benchmark,
    Compiles,
    Derived,
    DeviceCode,
    Evaluation,
    Execution,
    GateFigure,
    Metric,
    Program,
    Quantity,
    Support,
    Term,
    Unanswerable,
)
from assay.records.originals import FigurePattern
from assay.records.units import Unit, places
from assay.records.workloads import Arm, Comparison, Operation
from assay.shared.expressions import parse

T = TypeVar("T")

FORMED = {"quotient": Unit.RATIO, "percent_gain": Unit.PERCENT}
"""Unit of what a formula makes of two figures."""
COUNTED_BY = {
    Metric.RATE: "flops", Metric.RATE_RATIO: "flops", Metric.BANDWIDTH: "bytes",
}  # fmt: skip
"""What of a measurement says how much a metric counts."""
FIGURES_OF_PLACES = frozenset({None, "claimed", "work", "gpu", "interval"})
"""What a place of a finding may ask of a verdict (``records.claims.SourceFinding``)."""
Named = Iterable[tuple[str, frozenset[str]]]
"""(what, the names that a formula may use of it)."""


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
    def checked(of: str, part: str = "", where: str = "") -> Iterator["_Names"]:
        try:
            yield _Names(catalog, where)
        except BadInput as error:
            found.append(ReferenceProblem(of, str(error), part))

    for comparison in catalog.comparisons.values():
        own = catalog.project is not None and comparison.id in catalog.project.measures
        where = f"{'measurement' if own else 'comparison'} '{comparison.id}'"
        with checked(comparison.id, "protocol", where) as names:
            names.require("protocol", comparison.protocol, catalog.protocols)
        with checked(comparison.id, "", where) as names:
            names.check_comparison(comparison)
    for claim in catalog.claims.values():
        where = f"{_file_of(catalog, claim.id)}claim '{claim.id}'"
        for target in claim.hardware.targets:
            with checked(claim.id, "target", where) as names:
                names.require("target", target, catalog.targets)
        with checked(claim.id, "answer", where) as names:
            names.check_claim(claim)
        for reading in claim.readings:
            with checked(claim.id, "", f"{where}: reading '{reading.id}'") as names:
                names.check_claim(claim.under(reading))
    for audit in catalog.audits.values():
        where = f"{_file_of(catalog, audit.id)}audit '{audit.id}'"
        with checked(audit.id, "", where) as names:
            names.check_operands(filter(None, (*audit.operands, audit.claimed)))
    for source, figure in _printed_figures(catalog):
        where = f"{_file_of(catalog, figure.claim)}claim '{figure.claim}'"
        with checked(figure.claim, "answer", where) as names:
            names.check_figure(source, figure)
    found += _file_problems(catalog)
    found += _finding_problems(catalog)
    return found


def _file_of(catalog: Catalog, entry: str) -> str:
    """Return how a message calls the file that a claim stands in; a project has one, that is said
    already.
    """
    named = catalog.project is None and entry in catalog.source_of
    return f"{catalog.source_of[entry]}.yaml: " if named else ""


def _printed_figures(catalog: Catalog) -> Iterator[tuple[str, FigurePattern]]:
    """Yield what sources' own programs print, with the source."""
    for source, claims_file in catalog.sources.items():
        for original in claims_file.own_programs:
            yield from ((source, figure) for figure in original.figures)


@dataclass(frozen=True)
class _Names:
    """The names of one entry; every check raises BadInput."""

    catalog: Catalog
    where: str
    """How a message calls the entry."""

    def refuse(self, says: str) -> BadInput:
        return BadInput(f"{self.where}: {says}")

    def require(self, noun: str, name: str | None, known: Mapping[str, T]) -> None:
        """Refuse a name that names nothing."""
        if name is not None and name not in known:
            raise self.refuse(f"there is no {noun} '{name}'{suggest(name, known)}")

    def arm(self, comparison: str, name: str) -> Arm:
        self.require("comparison", comparison, self.catalog.comparisons)
        arms = {arm.id: arm for arm in self.catalog.comparisons[comparison].arms}
        self.require(f"arm of '{comparison}'", name, arms)
        return arms[name]

    def check_comparison(self, comparison: Comparison) -> None:
        """What its arms name is there."""
        for arm in comparison.arms:
            self.require("variant", arm.variant, self.catalog.variants)
            self.require("workload", arm.workload, self.catalog.workloads)

    def check_claim(self, claim: Claim) -> None:
        """What a claim's answer names is there, and its formulas and its unit fit."""
        catalog, evaluation = self.catalog, claim.evaluation
        for name in claim.predicts:
            self.require("claim", name, catalog.claims)
        self._check_terms(evaluation)
        match evaluation:
            case Arithmetic(operands=operands):
                self.check_operands(operands)
            case Program():
                self._check_program(claim, evaluation)
            case Derived():
                self._check_derived(evaluation)
            case DeviceCode(rival=rival):
                self.require("rival", rival, catalog.rivals)
            case Support(probe=probe):
                self.require("probe", probe, {**catalog.probes, **catalog.programs})
            case Unanswerable(nearest=nearest):
                for name in (each for each in nearest if isinstance(each, str)):
                    self.require("claim", name, catalog.claims)
        if claim.flops is not None:
            self._check_formula(claim.flops, self._names_of_rates(evaluation))
        if claim.bytes is not None:
            if not isinstance(evaluation, Benchmark) or evaluation.metric is not Metric.BANDWIDTH:
                raise self.refuse("a formula for bytes (bytes) is of a measured bandwidth")
            self._check_formula(claim.bytes, self._names_of_terms(evaluation.terms))
        if isinstance(evaluation, Derived):
            self._check_formed(claim, evaluation)

    def _check_terms(self, evaluation: Evaluation) -> None:
        """Arms exist, and a project counts of its own problem what a rate or bandwidth needs."""
        for term in _terms(evaluation):
            self.arm(term.comparison, term.arm)
            if term.over is not None:
                self.arm(term.comparison, term.over)
        metric = evaluation.metric if isinstance(evaluation, Benchmark) else None
        needs = COUNTED_BY.get(metric) if metric else None
        for term in _terms(evaluation) if needs else ():
            for arm in self.catalog.comparisons[term.comparison].arms:
                workload = self.catalog.workloads[arm.workload]
                own = workload.operation is Operation.CALLABLE and arm.id in (term.arm, term.over)
                if own and getattr(workload, needs or "") is None:
                    raise self.refuse(f"needs {needs} of measurement '{term.comparison}'")

    def _check_program(self, claim: Claim, evaluation: Program) -> None:
        """What is named of a program's output is in it, and is of the claim's kind."""
        self.require("program", evaluation.program, self.catalog.programs)
        printed = OUTPUTS[self.catalog.programs[evaluation.program].parser]
        for name in evaluation.stated.shape:
            if name not in printed.sizes:
                listed = suggest(name, printed.sizes)
                raise self.refuse(f"{evaluation.program} prints no size '{name}'{listed}")
        if printed.figures and not fnmatch.filter(printed.figures, evaluation.figure):
            listed = suggest(evaluation.figure, printed.figures)
            raise self.refuse(f"{evaluation.program} prints no '{evaluation.figure}'{listed}")
        base = Unit.MS if evaluation.figure.endswith("ms") else Unit.TFLOP_PER_S
        if claim.unit is not None and claim.unit.base is not base:
            says = f"is in {claim.unit.typed}, and '{evaluation.figure}' of"
            raise self.refuse(f"{says} {evaluation.program} is in {base.typed}")

    def _check_derived(self, evaluation: Derived) -> None:
        """Both parts exist, are measured themselves, and one has the reading meant."""
        catalog, names = self.catalog, (evaluation.numerator, evaluation.denominator)
        for name in names:
            self.require("claim", name, catalog.claims)
            if isinstance(catalog.claims[name].evaluation, Derived):
                raise self.refuse(f"is derived from '{name}', which is itself derived")
        readings = {r.id for name in names for r in catalog.claims[name].all_readings()}
        if any(catalog.program_of(name) for name in names):
            readings.add(PRINTED)
        if evaluation.under is not None and evaluation.under not in readings:
            raise self.refuse(f"neither part has a reading '{evaluation.under}'")
        for name in names if evaluation.flops is not None else ():
            counted = self._names_of_rates(catalog.claims[name].evaluation)
            self._check_formula(evaluation.flops or "", counted)

    def _check_formed(self, claim: Claim, evaluation: Derived) -> None:
        """A figure formed of two others is in its formula's unit, and can be formed of them."""
        if claim.unit is not FORMED[evaluation.formula]:
            typed = claim.unit.typed if claim.unit else "no unit"
            told = ", ".join(f"{formula} gives {each.typed}" for formula, each in FORMED.items())
            raise self.refuse(f"is in {typed}: {told}")
        names = (evaluation.numerator, evaluation.denominator)
        units = [self.catalog.claims[name].unit for name in names]
        for name, unit in zip(names, units, strict=True):
            if unit is None or unit.facts.base is None:
                raise self.refuse(f"'{name}' has no rate, time or ratio to form a figure of")
        top, bottom = units
        if top and bottom and top.base is not bottom.base:
            told = f"'{names[0]}' is in {top.typed} and '{names[1]}' in {bottom.typed}"
            raise self.refuse(f"{told}: no figure is formed of the two")

    def _check_formula(self, formula: str, problems: Named) -> None:
        for what, known in problems:
            for name in sorted(parse(formula).names - known):
                listed = ", ".join(sorted(known))
                says = f"'{formula}' names '{name}', which {what} does not have; known: {listed}"
                raise self.refuse(says)

    def _names_of_rates(self, evaluation: Evaluation) -> Named:
        """Yield what a formula may name of each problem that an evaluation measures."""
        match evaluation:
            case Benchmark(metric=Metric.RATE | Metric.RATE_RATIO, terms=terms):
                yield from self._names_of_terms(terms)
            case Program(program=program):
                yield program, names_of_program(self.catalog.programs[program].parser)
            case _:
                raise self.refuse("a formula for FLOPs (flops) is of a measured rate")

    def _names_of_terms(self, terms: Iterable[Term]) -> Named:
        """Yield the same of arms: of a project's function its own parameters."""
        for term in terms:
            for arm in self.catalog.comparisons[term.comparison].arms:
                workload = self.catalog.workloads[arm.workload]
                operation = workload.operation
                if arm.id in (term.arm, term.over):
                    own = operation is Operation.CALLABLE
                    known = workload.numbers if own else names_of_operation(operation.value)
                    yield operation.value, frozenset(known)

    def check_operands(self, operands: Iterable[Operand]) -> None:
        """Claims named carry a value; they, and places, may be those of other sources."""
        for operand in (part for whole in operands for part in whole.parts()):
            if operand.place is not None:
                self.require("source", operand.place.source, self.catalog.sources)
            self.require("claim", operand.claim, self.catalog.claims)
            if operand.claim is not None and self.catalog.claims[operand.claim].value is None:
                raise self.refuse(f"'{operand.claim}' carries no value to compute with")

    def check_figure(self, source: str, figure: FigurePattern) -> None:
        """What a source's own program prints answers what that source claims to have measured, in a
        unit of the claim's kind.
        """
        self.require("claim", figure.claim, self.catalog.claims)
        claim = self.catalog.claims[figure.claim]
        if not isinstance(claim.evaluation, Benchmark | Program | Unanswerable):
            raise self.refuse("is not answered by a measurement, and a program prints it")
        if claim.unit is None or claim.unit.facts.base is None:
            unit = claim.unit.typed if claim.unit else "none"
            says = f"its program prints rates, times and ratios, and its unit is {unit}"
            raise self.refuse(says)
        if claim.unit.base is not figure.unit.base:
            printed = f"its program prints {figure.unit.typed}"
            raise self.refuse(f"is in {claim.unit.typed}, and {printed}")
        if figure.counts not in (None, *(reading.id for reading in claim.all_readings())):
            raise self.refuse(f"has no reading '{figure.counts}'")


def _terms(evaluation: Evaluation) -> list[Term]:
    """Return the terms that an evaluation rests on or is shown beside."""
    match evaluation:
        case Benchmark(terms=terms, alternatives=beside) | Execution(terms=terms, nearest=beside):
            return [*terms, *(each.term for each in beside)]
        case GateFigure(term=term):
            return [term]
        case Support(nearest=beside) | Compiles(nearest=beside):
            return [each.term for each in beside]
        case Unanswerable(nearest=beside):
            return [each.term for each in beside if isinstance(each, Quantity)]
    return []


def _of_source(catalog: Catalog, source: str) -> str:
    """Return how a message calls a source: by its file, or where a project has all of them, by its
    id.
    """
    return f"{source}.yaml" if catalog.project is None else f"source '{source}'"


def _file_problems(catalog: Catalog) -> Iterator[ReferenceProblem]:
    """Yield programs, and files that are compiled, whose id another one has, and claims on a file
    or an architecture that their source does not list.
    """
    owners: dict[tuple[str, str], str] = {}
    for source, claims_file in catalog.sources.items():
        listed = [*(("original", each.id) for each in claims_file.own_programs),
                  *(("compilation", each.id) for each in claims_file.compilations)]  # fmt: skip
        for noun, name in listed:
            if (other := owners.get((noun, name))) is not None:
                whose = "it has two" if other == source else f"source {other} has one"
                says = f"{_of_source(catalog, source)}: {noun} '{name}': {whose} of that id"
                yield ReferenceProblem(source, says)
            owners[noun, name] = source
    for claim in catalog.claims.values():
        if isinstance(asked := claim.evaluation, Compiles):
            file = catalog.published_file(catalog.source_of[claim.id], asked.compilation)
            if file is None or asked.arch not in file.archs:
                says = f"the source has no compilation '{asked.compilation}' for {asked.arch}"
                where = f"{_file_of(catalog, claim.id)}claim '{claim.id}'"
                yield ReferenceProblem(claim.id, f"{where}: {says}", "answer")


def _finding_problems(catalog: Catalog) -> Iterator[ReferenceProblem]:
    """Yield findings that rest on no claim or audit, or take a figure of another one, or one that
    no verdict has.
    """
    for source, claims_file in catalog.sources.items():
        for finding in claims_file.findings:
            where = f"{_of_source(catalog, source)}: finding '{finding.says[:40]}...'"
            try:
                _check_finding(_Names(catalog, where), finding)
            except BadInput as error:
                yield ReferenceProblem(source, str(error))


def _check_finding(names: _Names, finding: SourceFinding) -> None:
    if not finding.when:
        raise names.refuse("names no verdict that it rests on (when)")
    for name in finding.when:
        names.require("claim", name, names.catalog.source_of)
    for each in places(finding.says):
        if each.claim not in finding.when:
            raise names.refuse(f"takes a figure of {each.claim}, which 'when' does not name")
        names.require("target", each.target, names.catalog.targets)
        if each.what not in FIGURES_OF_PLACES:
            listed = ", ".join(sorted(filter(None, FIGURES_OF_PLACES)))
            raise names.refuse(f"'{each.claim}:{each.what}' is no figure; known: {listed}")
