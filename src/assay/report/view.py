"""Everything the report's templates print, built from catalog, evidence and verdicts.

Builders pick, order and format. The numbers come from the verdicts, from the findings, and
from the pure functions of ``statistics.summaries``; the templates hold no arithmetic at all.
"""

from collections.abc import Iterator

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import platform_path
from assay.findings.binary_matches import binary_matches
from assay.findings.headline import outcomes
from assay.records.attestation import PipelineRecord
from assay.records.units import margin_factor
from assay.records.verdicts import Status, VerdictsFile, Why
from assay.report import formatting as fmt
from assay.report import machine, programs
from assay.report.checks import alarms, cheats_sections, guards, sanitizer_sections
from assay.report.claims import claim_groups, claim_lines, source_rows
from assay.report.counts import filters
from assay.report.figures.rooflines import rooflines
from assay.report.first_screen import first_screen
from assay.report.measurements import COLUMNS, comparison_sections, profile_rows
from assay.report.stopwatches import agreement_section, agreements, clocks_of
from assay.report.story import documents, impossible_figures, story
from assay.shared.counting import counted
from assay.shared.limits import MAX_SAMPLES, MAX_SETTLING


def build_view(
    catalog: Catalog, evidence: Evidence, verdicts: VerdictsFile, pipeline: PipelineRecord
) -> fmt.Row:
    """Return what the templates print of a run."""
    every, plan = verdicts.verdicts, evidence.plan
    clocks = clocks_of(evidence.benchmarks.values())
    counted_things = outcomes(catalog, every)
    agreed = tuple(agreements(evidence, clocks))
    binaries = binary_matches(catalog, evidence)
    guarded = list(guards(catalog, evidence, binaries, agreed))
    impossible = impossible_figures(catalog, {verdict.claim for verdict in every})
    lines = claim_lines(catalog, evidence, every, counted_things, impossible)
    of_programs = programs.command_rows(catalog, evidence)
    return {
        "run": verdicts.run,
        "first": first_screen(catalog, evidence, counted_things, pipeline, guarded, lines),
        "alarms": list(alarms(catalog, evidence)),
        "documents": documents(catalog, plan.sources),
        "findings": story(catalog, every),
        "impossible": [
            (name, lines[name].entry.statement, says) for name, says in impossible.items()
        ],
        "groups": claim_groups(catalog, lines),
        "filters": list(filters(catalog, [f for line in lines.values() for f in line.facets])),
        "sources": list(source_rows(catalog, plan.sources, counted_things, lines)),
        "method": _method_section(catalog, evidence, verdicts),
        "rooflines": list(rooflines(catalog, evidence)),
        "commands": [*of_programs, *programs.own_program_rows(catalog, evidence)],
        "originals": list(programs.original_rows(catalog, evidence)),
        "file_compiles": list(programs.file_compile_rows(evidence)),
        "comparisons": list(comparison_sections(catalog, evidence, clocks)),
        "builds": list(machine.build_rows(evidence, binaries)),
        "not_compiled": len(plan.not_compiled),
        "profile_columns": [title for _, title in COLUMNS],
        "profiles": list(profile_rows(evidence)),
        "agreement": agreement_section(catalog, evidence, agreed),
        "cheats": list(cheats_sections(evidence)),
        "sanitizers": list(sanitizer_sections(catalog, evidence)),
        "images": list(machine.image_rows(evidence)),
        "platforms": [
            (target, platform, fmt.link(evidence.place(platform_path(target))))
            for target, platform in evidence.platforms.items()
        ],
        "stages": machine.stage_rows(evidence),
    }


def _method_section(catalog: Catalog, evidence: Evidence, verdicts: VerdictsFile) -> fmt.Row:
    """Return margins, protocols, causes, and what the verdicts of a run rest on."""
    every, judging, plan = verdicts.verdicts, catalog.judging, evidence.plan
    judged = [v for v in every if v.ci90 is not None and v.status is not Status.ELSEWHERE]
    here = [v.measured_on.in_this_run for v in every if v.measured_on and v.measured is not None]
    names = {catalog.comparisons[name].protocol for t in plan.targets for name in t.comparisons}
    return {
        "judging": judging,
        "absolute_margin": margin_factor(judging.absolute_margin),
        "ratio_margin": margin_factor(judging.ratio_margin),
        "confidence": fmt.declared_percent(judging.confidence),
        "wrong": fmt.declared_percent(round((1 - judging.confidence) / 2, 12)),
        "causes": [(why.short, why.words) for why in Why if any(v.why is why for v in every)],
        "verdicts": len(every),
        "here": sum(here),
        "earlier": len(here) - sum(here),
        "judged": len(judged),
        "decided": sum(v.status.facts.decided for v in judged),
        "samples": list(_samples(evidence)),
        "protocols": [catalog.protocols[name] for name in sorted(names)],
        "most_samples": MAX_SAMPLES,
        "most_settling": MAX_SETTLING,
    }


def _samples(evidence: Evidence) -> Iterator[str]:
    """Yield how many samples each GPU's figures rest on."""
    for target, platform in evidence.platforms.items():
        records = [r for (name, _), r in evidence.benchmarks.items() if name == target]
        blocks = [b for record in records for p in record.processes for b in p.blocks]
        if blocks:
            samples = sum(len(turn.times_ms) for block in blocks for turn in block.turns)
            discarded = sum(block.void is not None for block in blocks)
            yield (
                f"{platform.device.gpu.product}: {counted(samples, 'sample')} in "
                f"{counted(len(blocks), 'block')}, {discarded} of them discarded."
            )
