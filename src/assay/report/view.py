"""Everything the report's templates print, built from catalog, evidence and verdicts.

Builders pick, order and format. The numbers come from the verdicts, from the findings, and
from the pure functions of ``statistics.summaries``; the templates hold no arithmetic at all.
"""

from dataclasses import dataclass

from assay import frames
from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.findings.block_quality import clocks_of
from assay.findings.guards import guards
from assay.findings.headline import outcomes
from assay.findings.run_summary import summarise
from assay.findings.stopwatch_agreement import agreements
from assay.records.attestation import PipelineRecord
from assay.records.verdicts import VerdictsFile, Why
from assay.report import formatting as fmt
from assay.report.across_gpus import AcrossGpus, across_gpus
from assay.report.by_source import SourceSection, SourceTable, source_sections, source_table
from assay.report.card_spread import (
    SpreadSection,
    report_spreads,
    spread_section,
    with_spreads,
)
from assay.report.checks import CheatsSection, alarms, cheats_sections
from assay.report.claim_filters import Filter, filters
from assay.report.claims import ClaimGroup, claim_groups, claim_lines
from assay.report.commands import CommandRow, command_rows
from assay.report.counts import CountTable, count_table, elsewhere_lines
from assay.report.earlier_runs import with_earlier_runs
from assay.report.facts import Fact
from assay.report.file_compiles import FileCompileRow, file_compile_rows
from assay.report.first_screen import FirstScreen, first_screen
from assay.report.images import ImageRow, image_rows
from assay.report.impossible import ImpossibleLine, impossible_lines, with_impossible
from assay.report.layers import LayersSection, layer_sections
from assay.report.leading_findings import LeadingFinding, leading_findings
from assay.report.machine import BuildRow, PlatformSection, build_rows, platform_sections
from assay.report.machine_differences import machine_differences, several_gpus
from assay.report.measurements import ComparisonSection, comparison_sections
from assay.report.operators import OperatorsSection, operator_sections
from assay.report.originals import OriginalRow, original_rows
from assay.report.own_programs import own_program_rows
from assay.report.profiles import COLUMNS, ProfileRow, profile_rows
from assay.report.rate_pictures import Picture, bk_sweeps, rooflines
from assay.report.remarks import remarks
from assay.report.rules import protocols, rules
from assay.report.sanitizer import SanitizerSection, sanitizer_sections
from assay.report.slurm_jobs import SlurmJobsSection, slurm_jobs_section
from assay.report.stopwatches import AgreementSection, agreement_section
from assay.report.story import Document, Sentence, documents, story
from assay.report.timings import TimingsSection, timings_section
from assay.report.tuning import TuningSection, tuning_section
from assay.statistics.shared_summaries import SharedSummaries


@dataclass(frozen=True)
class ReportView:
    """The whole report, ready to print."""

    run: str
    first: FirstScreen
    alarms: tuple[str, ...]
    """What a reader must know before anything else; empty in a good run."""
    documents: tuple[Document, ...]
    story: tuple[Sentence, ...]
    """What people wrote of the verdicts, with figures filled in; empty where it does not hold."""
    findings: tuple[LeadingFinding, ...]
    """What verdicts come to by count; none where there is a story."""
    impossible: tuple[ImpossibleLine, ...]
    """What arithmetic alone contradicts, whether it was measured or not."""
    groups: tuple[ClaimGroup, ...]
    """Claims: what was measured first, then what is folded."""
    filters: tuple[Filter, ...]
    across: AcrossGpus | None
    spread: SpreadSection | None
    """Figures that other cards or runs measured, too; None where nothing is known of any."""
    differences: tuple[str, ...]
    """What else than the GPU differs between the machines of several targets."""
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
    layers: tuple[LayersSection, ...]
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
    slurm_jobs: SlurmJobsSection | None
    timings: TimingsSection | None
    rules: tuple[str, ...]
    protocols: tuple[Fact, ...]
    margins: tuple[str, str]
    """Of absolute figures and of ratios."""
    confidence: str
    causes: tuple[tuple[str, str], ...]
    """(in short, in words) of every cause that a verdict has."""
    source_table: SourceTable


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
    every = verdicts.verdicts
    counted_things = outcomes(catalog, every)
    agreed = tuple(agreements(evidence, clocks))
    spreads = report_spreads(catalog, evidence, verdicts)
    made = claim_lines(catalog, evidence, every, counted_things, verdicts.run)
    impossible = tuple(impossible_lines(catalog, made))
    noted = with_impossible(with_spreads(made, spreads), impossible)
    lines = with_earlier_runs(catalog, evidence, noted)
    groups = claim_groups(catalog, every, lines)
    told = story(catalog, every)
    guarded = guards(catalog, evidence, summary.binaries, agreed)
    return ReportView(
        run=verdicts.run,
        first=first_screen(catalog, evidence, counted_things, pipeline, guarded, lines),
        alarms=tuple(alarms(catalog, evidence)),
        documents=documents(catalog, evidence.plan.sources),
        story=told,
        findings=() if told else leading_findings(catalog, every, counted_things),
        impossible=impossible,
        groups=groups,
        filters=filters(catalog, lines.values()),
        across=across_gpus(catalog, evidence, every, lines),
        spread=spread_section(
            lines,
            spreads,
            quotes=evidence.other_runs is not None,
            beside=several_gpus(evidence),
        ),
        differences=machine_differences(evidence),
        counts=count_table(evidence.plan.sources, counted_things),
        elsewhere=elsewhere_lines(catalog, every),
        remarks=tuple(remarks(summary, counted_things)),
        sources=source_sections(catalog, evidence.plan.sources, every, counted_things, lines),
        rooflines=rooflines(catalog, evidence, summaries),
        sweeps=bk_sweeps(catalog, evidence, summaries),
        commands=(*command_rows(catalog, evidence), *own_program_rows(catalog, evidence)),
        originals=original_rows(catalog, evidence),
        file_compiles=file_compile_rows(evidence),
        comparisons=comparison_sections(catalog, evidence, summaries, clocks),
        layers=layer_sections(catalog, evidence, summaries),
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
        slurm_jobs=slurm_jobs_section(evidence),
        timings=timings_section(evidence),
        rules=tuple(rules(catalog)),
        protocols=tuple(protocols(catalog, evidence)),
        margins=(
            fmt.declared_percent(catalog.judging.absolute_margin),
            fmt.declared_percent(catalog.judging.ratio_margin),
        ),
        source_table=source_table(evidence.plan.sources, counted_things, lines),
        causes=tuple((why.short, why.words) for why in Why if any(v.why is why for v in every)),
        confidence=fmt.declared_percent(catalog.judging.confidence),
    )
