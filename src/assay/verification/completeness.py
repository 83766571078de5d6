"""Whether a report leaves out what its plan asked for: claims, verdicts, records, runs. Pure."""

from collections.abc import Iterator

from assay.base.check_log import CheckUnderWay, names
from assay.catalog.model import Catalog
from assay.evidence import stages
from assay.evidence.model import Evidence
from assay.evidence.stages import Purpose
from assay.records.evaluations import Inspection
from assay.records.plan import Plan, TargetPlan
from assay.records.verdicts import VerdictsFile
from assay.records.workloads import FEWEST_FIXED


def check_complete(
    catalog: Catalog, evidence: Evidence, verdicts: VerdictsFile, says: CheckUnderWay
) -> None:
    """Refuse what is left out."""
    _check_sources(catalog, evidence.plan, says)
    _check_verdicts(evidence.plan, verdicts, says)
    for code, path in _missing(catalog, evidence):
        says.refuse(code, f"{path} is missing, though the plan calls for it")
    _check_counts(catalog, evidence, says)


def _check_sources(catalog: Catalog, plan: Plan, says: CheckUnderWay) -> None:
    """Every claim and audit of the sources that were asked for stands in the plan."""
    planned = {answer.claim for answer in plan.answers}
    for source in plan.sources:
        if source not in catalog.sources:
            says.refuse("claims-left-out", f"source {source} is not among the evidence")
            continue
        file = catalog.sources[source]
        stated = {claim.id for claim in file.claims} | {audit.id for audit in file.audits}
        if plan.claims:
            stated &= set(plan.claims)
        if missing := stated - planned:
            left = f"the plan leaves out {len(missing)} of source {source}: {names(missing)}"
            says.refuse("claims-left-out", left)


def _check_verdicts(plan: Plan, verdicts: VerdictsFile, says: CheckUnderWay) -> None:
    """Each answer of the plan has one verdict."""
    planned = sorted(((a.claim, a.target) for a in plan.answers), key=str)
    given = sorted(((v.claim, v.target) for v in verdicts.verdicts), key=str)
    if planned != given:
        missing = {claim for claim, _ in set(planned) - set(given)}
        more = {claim for claim, _ in set(given) - set(planned)}
        how = f"without a verdict: {names(missing)}" if missing else f"unplanned: {names(more)}"
        says.refuse("verdicts-left-out", f"plan and verdicts do not fit: {how or 'twice'}")


def _missing(catalog: Catalog, evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Yield (code, path) of each record that the plan calls for and that is not there."""
    plan = evidence.plan
    for job in plan.builds:
        if (job.id, job.arch) not in evidence.builds:
            yield "record-missing", stages.BUILDS.path(job.id, job.arch)
    looked_into = {each.claim for each in plan.answers if each.way == "compute"}
    for claim in sorted(looked_into & catalog.claims.keys()) if not plan.judges_only else ():
        inspected = isinstance(catalog.claims[claim].evaluation, Inspection)
        if inspected and claim not in evidence.inspections:
            yield "record-missing", f"{stages.inspections_path()} of {claim}"
    recorded = (job for target in plan.targets for job in target.compilations)
    for compilation in (*plan.compilations, *recorded):
        if compilation.key not in evidence.file_compiles:
            yield "record-missing", stages.file_compile_path(*compilation.key)
    for target in plan.targets:
        if target.provision.kind != "none":
            yield from _missing_of(catalog, evidence, target)


def _missing_of(
    catalog: Catalog, evidence: Evidence, plan: TargetPlan
) -> Iterator[tuple[str, str]]:
    """Yield the same of one target. A program that did not compile has nothing to run."""
    unbuilt = set[str]()
    if plan.provision.kind == "device":
        arch = catalog.targets[plan.target].arch
        builds = ((job.id, evidence.builds.get((job.program, arch))) for job in plan.programs)
        unbuilt = {job for job, build in builds if build and build.status == "failed"}
    for stage in stages.TARGET_STAGES:
        held = getattr(evidence, stage.collection)
        for key, path in stage.paths(plan).items():
            if key in held or (stage is stages.PROGRAMS and key[1] in unbuilt):
                continue
            beside = stage.purpose is Purpose.BESIDE
            code = "guard-missing" if beside else "record-missing"
            code = "platform-missing" if stage is stages.PLATFORMS else code
            yield code, path


def _check_counts(catalog: Catalog, evidence: Evidence, says: CheckUnderWay) -> None:
    """Each comparison has the processes of a look of its protocol, and each program ran as often as
    it was to: a source's own may not have been built.
    """
    recorded = {each.target for each in evidence.plan.targets if each.provision.kind == "recorded"}
    for key, record in evidence.benchmarks.items():
        path, comparison = stages.BENCHMARKS.path(*key), catalog.comparisons[key[1]]
        count, planned = len(record.processes), catalog.protocols[comparison.protocol].looks
        if not record.looks and len(planned) > 1 and key[0] in recorded:
            # Taken over from a report of a time when their number was fixed.
            planned = (max(count, FEWEST_FIXED),)
        untimed = {arm.id for arm in comparison.arms} == set(record.not_timed)
        if record.protocol != comparison.protocol:
            how = f"was measured by protocol {record.protocol}, not {comparison.protocol}"
            says.refuse("protocol", f"{path} {how}")
        elif record.looks != (planned if len(planned) > 1 else ()):
            says.refuse("protocol", f"{path} was looked at after other numbers of processes")
        elif count not in planned and (count or not untimed):
            numbers = " or ".join(map(str, planned))
            says.refuse("processes", f"{path} has {count} processes, and its protocol {numbers}")
        elif [process.index for process in record.processes] != list(range(count)):
            says.refuse("processes", f"{path} has not the first {count} processes of its protocol")
    wanted = catalog.judging.program_runs
    counts = [
        (stages.PROGRAMS.path(*key), len(each.runs)) for key, each in evidence.programs.items()
    ]
    for key, original in evidence.originals.items():
        lines = filter(None, (original.runs, original.typed_runs))
        counts += [(stages.ORIGINALS.path(*key), len(runs)) for runs in lines]
    for path, count in counts:
        if count != wanted:
            how = f"has {count} runs, and its program was to run {wanted} times"
            says.refuse("program-runs", f"{path} {how}")
