"""The page's part on the method: how samples are taken, and what the verdicts rest on."""

from collections.abc import Iterator

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.records.verdicts import VerdictsFile, Why
from assay.report import formatting as fmt
from assay.report.formatting import Row
from assay.shared.counting import counted
from assay.shared.limits import MAX_SAMPLES, MAX_SETTLING


def method_section(catalog: Catalog, evidence: Evidence, verdicts: VerdictsFile) -> Row:
    """Return margins, protocols, causes, and what the verdicts of a run rest on."""
    every, judging, plan = verdicts.verdicts, catalog.judging, evidence.plan
    judged = [v for v in every if v.ci90 is not None and v.status.facts.basis == "interval"]
    here = [v.measured_on.in_this_run for v in every if v.measured_on and v.measured is not None]
    names = {catalog.comparisons[name].protocol for t in plan.targets for name in t.comparisons}
    return {
        "judging": judging,
        "absolute_margin": fmt.declared_percent(judging.absolute_margin),
        "ratio_margin": fmt.declared_percent(judging.ratio_margin),
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
