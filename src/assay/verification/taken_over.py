"""Whether a run took over all that it could of a report: figures, and what tells of them. Pure.

What was measured or compiled otherwise is not taken; where nothing is defined otherwise, nothing
was. An older report may have left out what later ones take along.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.evidence.stages import (
    BENCHMARKS,
    ORIGINALS,
    PROGRAMS,
    origin_folder,
    timings_path,
)
from assay.judging.needs import closure, comparisons_of, programs_of
from assay.records.claims import Claim
from assay.records.plan import Plan, TargetPlan
from assay.verification.contradictions import Findings, names
from assay.verification.origin import Origin

BUILDS = "builds/"
"""Of a report's own records of builds, or of those that came along with a target."""


@dataclass(frozen=True)
class _Left:
    """What the origin holds and the run did not take."""

    what: str
    paths: list[str]
    alike: bool
    """Whether nothing that it depends on is defined otherwise."""


def check_taken_over(
    catalog: Catalog, plan: Plan, of: TargetPlan, origin: Origin | None, findings: Findings
) -> None:
    """Add figures, and records beside them, that were left though nothing of them changed."""
    if of.provision.kind != "recorded" or origin is None:
        return
    # Also what is for other hardware: elsewhere it is answered only where a figure was taken over.
    names_asked = dict.fromkeys(answer.claim for answer in plan.answers)
    asked = [catalog.claims[name] for name in names_asked if name in catalog.claims]
    needed = closure(catalog, asked)
    for left in (*_figures(catalog, plan, of, origin, needed), *_beside(of, origin)):
        if not left.paths:
            continue
        if left.alike:
            says = f"{of.target}: not taken over, though nothing of it changed: {names(left.paths)}"
            findings.refuse("figures-not-planned", says)
        else:
            findings.leave(f"{of.target}: {left.what}: {names(left.paths)}")


def _figures(
    catalog: Catalog, plan: Plan, of: TargetPlan, origin: Origin, needed: list[Claim]
) -> Iterator[_Left]:
    """Yield what answers the claims that were asked for."""
    comparisons = set(comparisons_of(catalog, needed)) - set(of.comparisons)
    held = {BENCHMARKS.path(of.target, name): name for name in comparisons}
    left = [name for path, name in held.items() if path in origin.paths]
    yield _Left(
        "measurements that the report it comes from holds and this one left there",
        left,
        origin.defined_alike,
    )
    arch = catalog.targets[of.target].arch
    jobs = {job.id for job in programs_of(needed) if arch in catalog.programs[job.program].archs}
    ran = [
        job
        for job in jobs - {job.id for job in of.programs}
        if PROGRAMS.path(of.target, job) in origin.paths
    ]
    alike = origin.defined_alike and origin.tools_alike
    yield _Left("programs that the report it comes from ran and this one left there", ran, alike)
    there = {job.original for job in of.originals}
    for source in plan.sources:
        programs = catalog.sources[source].own_programs if source in catalog.sources else ()
        for original in (each for each in programs if each.id not in there):
            path = ORIGINALS.path(of.target, original.id)
            same = f"config/claims/{source}.yaml" in origin.same
            left = [path] if path in origin.paths else []
            yield _Left(
                "a source's program, which this report left in the one it comes from", left, same
            )


def _beside(of: TargetPlan, origin: Origin) -> Iterator[_Left]:
    """Yield builds and the times of steps of what was taken over."""
    folder = f"{origin_folder(of.target)}/"
    took_over = any(path.startswith(folder) for path in origin.paths)
    prefix = folder if took_over else ""
    mine = [path.removeprefix(prefix) for path in origin.paths if path.startswith(prefix)]
    taken = {
        path.removeprefix(prefix)
        for path in (*of.provision.recorded_paths, *of.provision.earlier_builds)
    }
    alike = origin.defined_alike and origin.tools_alike
    builds = [path for path in mine if path.startswith(BUILDS) and path not in taken]
    yield _Left(
        "builds that the report it comes from holds and this one left there", sorted(builds), alike
    )
    times = [timings_path()] if timings_path() in set(mine) - taken else []
    if times and not origin.tools_alike:
        return  # an older report, which is told of where windows are checked
    yield _Left("when steps ran, which the report it comes from says", times, True)
