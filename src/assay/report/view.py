"""Everything the report's templates print, built from catalog, evidence and verdicts.

Builders pick, order and format. The numbers come from the verdicts, from the findings, and
from the pure functions of ``statistics.summaries``; the templates hold no arithmetic at all.
"""

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import platform_path
from assay.findings.binary_matches import told as told_matches
from assay.findings.block_quality import clocks_of
from assay.findings.guards import guards
from assay.findings.headline import outcomes
from assay.findings.run_summary import summarise
from assay.findings.stopwatch_agreement import agreements
from assay.records.attestation import PipelineRecord
from assay.records.verdicts import VerdictsFile, Why
from assay.report import formatting as fmt
from assay.report import machine, programs
from assay.report.checks import alarms, cheats_sections, sanitizer_sections
from assay.report.claims import claim_groups, claim_lines
from assay.report.counts import count_table, elsewhere_lines, idle_words, protocols
from assay.report.facets import filters
from assay.report.figures.rate_pictures import bk_sweeps, rooflines
from assay.report.first_screen import first_screen
from assay.report.formatting import Row, link
from assay.report.leading_findings import leading_findings
from assay.report.measurements import COLUMNS, comparison_sections, profile_rows, tuning_rows
from assay.report.stopwatches import agreement_section
from assay.report.story import (
    documents,
    impossible_lines,
    source_sections,
    source_table,
    story,
    with_impossible,
)
from assay.statistics.shared_summaries import SharedSummaries


def build_view(
    catalog: Catalog,
    evidence: Evidence,
    verdicts: VerdictsFile,
    pipeline: PipelineRecord,
    summaries: SharedSummaries,
) -> Row:
    """Return what the templates print of a run; ``summaries``: those that judging made."""
    every, plan = verdicts.verdicts, evidence.plan
    summary = summarise(catalog, evidence, verdicts)
    clocks = clocks_of(evidence.benchmarks.values())
    counted_things = outcomes(catalog, every)
    agreed = tuple(agreements(evidence, clocks))
    guarded = guards(catalog, evidence, summary.binaries, agreed)
    made = claim_lines(catalog, evidence, every, counted_things, verdicts.run)
    impossible = impossible_lines(made, catalog)
    lines = with_impossible(made, impossible)
    told = story(catalog, every)
    of_programs = programs.command_rows(catalog, evidence)
    declared = fmt.declared_percent
    return {
        "run": verdicts.run,
        "first": first_screen(catalog, evidence, counted_things, pipeline, guarded, lines),
        "alarms": list(alarms(catalog, evidence)),
        "documents": documents(catalog, plan.sources),
        "story": told,
        "findings": () if told else leading_findings(catalog, every, counted_things),
        "impossible": [(name, lines[name].title, says) for name, says in impossible.items()],
        "groups": claim_groups(catalog, every, lines),
        "filters": list(filters(catalog, [f for line in lines.values() for f in line.facets])),
        "counts": count_table(plan.sources, counted_things),
        "elsewhere": elsewhere_lines(catalog, every),
        "summary": summary,
        "binaries": told_matches(summary.binaries),
        "idle": idle_words(counted_things),
        "judging": catalog.judging,
        "sources": list(source_sections(catalog, plan.sources, every, counted_things, lines)),
        "source_table": source_table(plan.sources, counted_things, lines),
        "rooflines": list(rooflines(catalog, evidence, summaries)),
        "sweeps": list(bk_sweeps(catalog, evidence, summaries)),
        "commands": [*of_programs, *programs.own_program_rows(catalog, evidence)],
        "originals": list(programs.original_rows(catalog, evidence)),
        "file_compiles": list(programs.file_compile_rows(evidence)),
        "comparisons": list(comparison_sections(catalog, evidence, summaries, clocks)),
        "tuning": list(tuning_rows(catalog, evidence, summaries)),
        "builds": list(machine.build_rows(evidence, summary.binaries)),
        "profile_columns": [title for _, title in COLUMNS],
        "profiles": list(profile_rows(evidence)),
        "agreement": agreement_section(catalog, evidence, agreed),
        "cheats": list(cheats_sections(evidence)),
        "sanitizers": list(sanitizer_sections(catalog, evidence)),
        "operators": list(machine.operator_sections(catalog, evidence)),
        "images": list(machine.image_rows(evidence)),
        "platforms": [
            (target, platform, link(f"evidence/{platform_path(target)}"))
            for target, platform in evidence.platforms.items()
        ],
        "slurm_jobs": machine.slurm_jobs_section(evidence),
        "stages": machine.stage_rows(evidence),
        "protocols": list(protocols(catalog, evidence)),
        "margins": (
            declared(catalog.judging.absolute_margin),
            declared(catalog.judging.ratio_margin),
        ),
        "confidence": declared(catalog.judging.confidence),
        "causes": [(why.short, why.words) for why in Why if any(v.why is why for v in every)],
    }
