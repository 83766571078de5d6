"""Everything the report's templates print, built from catalog, evidence and verdicts.

Builders pick, order and format. The numbers come from the verdicts, from the findings, and
from the pure functions of ``statistics.summaries``; the templates hold no arithmetic at all.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from assay import frames
from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.findings.binary_matches import told
from assay.findings.block_quality import clocks_of
from assay.findings.run_summary import Chance, RunSummary, summarise
from assay.records.attestation import PipelineRecord
from assay.records.plan import TargetPlan
from assay.records.verdicts import VerdictsFile
from assay.report import formatting as fmt
from assay.report.checks import CheatsSection, alarms, cheats_sections
from assay.report.claims import Fact, SourceSection, source_sections
from assay.report.commands import CommandRow, command_rows
from assay.report.counts import CountTable, count_table, elsewhere_lines, told_counts
from assay.report.file_compiles import FileCompileRow, file_compile_rows
from assay.report.images import ImageRow, image_rows
from assay.report.machine import BuildRow, PlatformSection, build_rows, platform_sections
from assay.report.measurements import ComparisonSection, comparison_sections
from assay.report.operators import OperatorsSection, operator_sections
from assay.report.originals import OriginalRow, original_rows
from assay.report.own_programs import own_program_rows
from assay.report.profiles import COLUMNS, ProfileRow, profile_rows
from assay.report.rate_pictures import Picture, bk_sweeps, rooflines
from assay.report.rules import protocols, rules
from assay.report.sanitizer import SanitizerSection, sanitizer_sections
from assay.report.stopwatches import AgreementSection, agreement_section
from assay.report.timings import TimingsSection, timings_section
from assay.report.tuning import TuningSection, tuning_section
from assay.shared.counting import agreeing, counted
from assay.statistics.shared_summaries import SharedSummaries


@dataclass(frozen=True)
class Headline:
    """The first thing a reader sees."""

    measured_here: bool
    lead: str
    counts: str
    """What came out how, in a sentence."""
    targets: tuple[Fact, ...]


@dataclass(frozen=True)
class ReportView:
    """The whole report, ready to print."""

    run: str
    commit: str
    headline: Headline
    alarms: tuple[str, ...]
    """What a reader must know before anything else; empty in a good run."""
    counts: CountTable
    elsewhere: tuple[str, ...]
    """Which GPU stood in for which; empty where every figure is of the hardware named."""
    remarks: tuple[str, ...]
    sources: tuple[SourceSection, ...]
    rooflines: tuple[Picture, ...]
    sweeps: tuple[Picture, ...]
    commands: tuple[CommandRow, ...]
    originals: tuple[OriginalRow, ...]
    file_compiles: tuple[FileCompileRow, ...]
    comparisons: tuple[ComparisonSection, ...]
    tuning: TuningSection | None
    builds: tuple[BuildRow, ...]
    profile_columns: tuple[str, ...]
    profiles: tuple[ProfileRow, ...]
    agreement: AgreementSection | None
    cheats: tuple[CheatsSection, ...]
    sanitizers: tuple[SanitizerSection, ...]
    operators: tuple[OperatorsSection, ...]
    images: tuple[ImageRow, ...]
    platforms: tuple[PlatformSection, ...]
    timings: TimingsSection | None
    rules: tuple[str, ...]
    protocols: tuple[Fact, ...]


def build_view(
    catalog: Catalog,
    evidence: Evidence,
    verdicts: VerdictsFile,
    pipeline: PipelineRecord,
    summaries: SharedSummaries,
) -> ReportView:
    """Return the view of one run; ``summaries`` are taken up where judging made them."""
    summary = summarise(catalog, evidence, verdicts)
    clocks = clocks_of(frames.turns(evidence.benchmarks.values()))
    return ReportView(
        run=verdicts.run,
        commit=_commit(pipeline.commit, pipeline.clean_tree),
        headline=headline(evidence, pipeline, summary),
        alarms=tuple(alarms(catalog, evidence)),
        counts=count_table(evidence.plan.sources, summary),
        elsewhere=elsewhere_lines(catalog, verdicts.verdicts),
        remarks=tuple(remarks(summary)),
        sources=source_sections(catalog, evidence, verdicts.verdicts),
        rooflines=rooflines(catalog, evidence, summaries),
        sweeps=bk_sweeps(catalog, evidence, summaries),
        commands=(*command_rows(catalog, evidence), *own_program_rows(catalog, evidence)),
        originals=original_rows(catalog, evidence),
        file_compiles=file_compile_rows(evidence),
        comparisons=comparison_sections(catalog, evidence, summaries, clocks),
        tuning=tuning_section(catalog, evidence, summaries),
        builds=build_rows(evidence, summary.binaries),
        profile_columns=tuple(title for _, title in COLUMNS),
        profiles=profile_rows(evidence),
        agreement=agreement_section(catalog, evidence, clocks),
        cheats=cheats_sections(evidence),
        sanitizers=sanitizer_sections(catalog, evidence),
        operators=operator_sections(catalog, evidence),
        images=image_rows(evidence),
        platforms=platform_sections(evidence),
        timings=timings_section(evidence),
        rules=tuple(rules(catalog)),
        protocols=tuple(protocols(catalog, evidence)),
    )


def _commit(commit: str | None, clean: bool | None) -> str:
    if commit is None:
        return "a commit that is not known"
    state = {True: "", False: " with uncommitted changes", None: " (tree state not known)"}[clean]
    return f"commit {commit[:12]}{state}"


def headline(evidence: Evidence, pipeline: PipelineRecord, summary: RunSummary) -> Headline:
    """Return which GPU measured what, when, by which commit, or whose records a report judges."""
    plans = evidence.plan.targets
    here = [plan for plan in plans if plan.provision.kind == "device"]
    recorded = [plan for plan in plans if plan.provision.kind == "recorded"]
    commit = _commit(pipeline.commit, pipeline.clean_tree)
    if here:
        measured = " and ".join(_measured(evidence, plan) for plan in here)
        lead = f"Measured in this run on {measured}, by {commit}."
    else:
        lead = "No figure was measured on this machine, and none was taken from an earlier report."
        if recorded:
            reports = dict.fromkeys(plan.provision.recorded_in for plan in recorded)
            several = len(reports) > 1
            signed = f"{len(reports)} signed reports" if several else "a signed report"
            how = "together" if several else "again"
            places = "; ".join(
                f"{_measured(evidence, plan)} ({plan.provision.recorded_in})" for plan in recorded
            )
            lead = (
                f"Records of {signed}, judged {how} by {commit}: measured on "
                f"{places}. No figure was measured on this machine."
            )
    return Headline(
        measured_here=bool(here),
        lead=lead,
        counts=told_counts(summary.counts),
        targets=tuple(Fact(plan.target, _provided(evidence, plan)) for plan in plans),
    )


def _measured(evidence: Evidence, plan: TargetPlan) -> str:
    platform = evidence.platforms.get(plan.target)
    if platform is None:
        return f"{plan.target} (no platform record)"
    gpu = platform.device.gpu
    return f"{gpu.product} ({gpu.uuid}) at {platform.recorded_at}"


def _provided(evidence: Evidence, plan: TargetPlan) -> str:
    if plan.provision.kind == "device":
        return f"measured in this run: {_measured(evidence, plan)}"
    if plan.provision.kind == "recorded":
        here = f"; not measured here: {plan.provision.absence}" if plan.provision.absence else ""
        return f"taken from {plan.provision.recorded_in}: {_measured(evidence, plan)}{here}"
    return f"not measured: {plan.provision.detail}"


def remarks(summary: RunSummary) -> Iterator[str]:
    """Yield what the counts alone do not say."""
    if summary.measured_here or summary.figures_recorded:
        yield (
            f"{counted(summary.total, 'verdict')}. Of the measured figures, {summary.figures_here} "
            f"{agreeing(summary.figures_here, 'was', 'were')} measured in this run and "
            f"{summary.figures_recorded} {agreeing(summary.figures_recorded, 'comes', 'come')} "
            "from an earlier, signed report."
        )
        yield (
            "Counted are measurements, not verdicts: one that answers several claims counts once, "
            "by the worst of its verdicts, and once in each source that it answers."
        )
    else:
        yield f"{counted(summary.total, 'verdict')}, none of which rests on a measurement."
    if summary.not_run_reasons:
        listed = ", ".join(
            f"{fmt.words(reason)} ({count})" for reason, count in summary.not_run_reasons.items()
        )
        yield f"Reasons for not run: {listed}."
    chance = summary.chance
    if chance.judged:
        yield (
            f"{counted(chance.judged, 'verdict')} {agreeing(chance.judged, 'rests', 'rest')} on an "
            f"interval, {chance.decided} of them decided. "
            f"Chance alone would make at most {fmt.rough(chance.expected_wrong)} of them wrong, "
            "were every claim at the edge of its margin or at its bound, and "
            f"{fmt.rough(chance.expected_missed)} intervals would miss the true value."
        )
        yield from _undecided_by_chance(chance)
        if chance.families:
            yield (
                f"They rest on {counted(chance.measurements, 'different measurement')}: "
                "verdicts that share one are right or wrong together, and say so."
            )
    if summary.binaries:
        yield told(summary.binaries)
    if summary.not_compiled:
        yield summary.not_compiled
    for target in summary.targets:
        if target.samples or any(target.seconds.values()):
            stages = ", ".join(
                f"{stage} {fmt.rough(seconds)} s" for stage, seconds in target.seconds.items()
            )
            yield (
                f"{target.target}: {counted(target.samples, 'sample')} in "
                f"{counted(target.blocks, 'block')}, "
                f"{target.discarded_blocks} of them discarded; {stages}; "
                f"{fmt.rough(target.gpu_seconds)} s in the benchmarks' launches alone, by CUDA "
                "events."
            )


def _undecided_by_chance(chance: Chance) -> Iterator[str]:
    """Yield how many verdicts would stay open though their figures are true, by kind of claim."""
    one_sided = chance.judged - chance.with_margin
    if chance.with_margin:
        yield (
            f"Of the {chance.with_margin} with a margin, "
            f"{fmt.rough(chance.expected_inconclusive)} would be inconclusive by chance, were "
            "every figure exactly true."
        )
    if one_sided:
        yield (
            f"{'The other ' if chance.with_margin else ''}{one_sided} "
            f"{agreeing(one_sided, 'is', 'are')} one-sided (at least or at most): a figure "
            "exactly at its bound cannot be decided, however long it is measured."
        )
