"""Units of work whose figures must be of one card: a ratio of two cards would tell of the cards.

A unit is what a device job measures: a comparison, a program's list of arguments, a source's own
program. Units whose figures are divided by each other form a bundle.
"""

from collections.abc import Collection, Iterable

from assay.catalog.model import Catalog
from assay.judging.needs import measured_together, needed_on
from assay.records.plan import Plan, TargetPlan


def bundles_of(catalog: Catalog, plan: Plan, target: TargetPlan) -> dict[str, str]:
    """Return the bundle of each unit of a target. Sources' own programs form one with whatever some
    claim divides: one program's figure is divided by another's.
    """
    ties = measured_together(catalog, needed_on(catalog, plan.answers, target.target))
    own = {job.original for job in target.originals}
    programs = (job.id for job in target.programs)
    names = [*target.comparisons, *programs, *sorted(own)]
    return bundled(names, [own.union(*ties)] if own else ties)


def bundled(names: Iterable[str], ties: Iterable[Collection[str]]) -> dict[str, str]:
    """Return the bundle of each unit, by name: that of all units that ``ties`` lead to."""
    bundle = {name: name for name in names}
    for tie in ties:
        joined = {bundle[name] for name in tie if name in bundle}
        first = min(joined, default="")
        bundle = {name: first if of in joined else of for name, of in bundle.items()}
    return bundle
