"""Whose rules a report was judged by: its configuration against the verifier's own.

Margins, confidence, tolerances, peaks, protocols, workloads and claims come with the evidence. They
must be those of the verifier's own checkout, which may know GPUs, sources and kernels that came
later.
"""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.base.check_log import CheckLog, listed
from assay.base.errors import CheckFailed
from assay.base.io import read_record
from assay.base.pip_locks import TOOLCHAIN_LOCK
from assay.catalog.load import load_base, load_catalog
from assay.catalog.model import Catalog
from assay.catalog.project_folder import project_of
from assay.evidence.stages import plan_path
from assay.judging.needs import closure, comparisons_of, variants_of
from assay.records.claims import Claim, SourceClaims
from assay.records.plan import Plan

NOUNS = {
    "target": "targets", "workload": "workloads", "comparison": "comparisons",
    "protocol": "protocols", "variant": "variants", "program": "programs", "probe": "probes",
    "rival": "rivals", "source": "sources",
}  # fmt: skip
"""What a catalog has by id, each under a name of its own."""


@dataclass(frozen=True)
class Policy:
    """Where a verifier's own rules are."""

    folder: Path
    """A directory with config/ and kernels/, as a checkout is."""
    accepted: bool = False
    """Whether differences are listed and accepted."""


def check_policy(log: CheckLog, report_dir: Path, policy: Policy) -> None:
    """Compare the configuration of a report's evidence with the verifier's own, entry by entry.

    Entries that say other things fail the check, unless they are accepted. What a project claims is
    its signer's, and compared with nothing.
    """
    with log.check("policy") as says:
        evidence = report_dir / "evidence"
        claims = project_of(evidence) is None
        found = list(_differing(evidence, policy.folder, claims=claims))
        what = "tolerances, peaks, protocols and claims" if claims else "peaks, protocols"
        told = f"margins, {what} are those of {policy.folder}"
        others = f"judged by other rules than those of {policy.folder}: {listed(found)}"
        if not found:
            says(told)
        elif policy.accepted:
            says(f"accepted: {others}")
            says.leave(f"that {told}")
        else:
            raise CheckFailed(others, code="policy")


def _differing(evidence: Path, own: Path, *, claims: bool) -> Iterator[str]:
    """Yield each entry of the evidence that the verifier has otherwise, or not at all; of targets,
    sources, claims, comparisons and variants those that the report is about.
    """
    given, ours = (load_base(root, claims=claims) for root in (evidence, own))
    plan = read_record(Plan, evidence / plan_path())
    catalog = load_catalog(evidence)
    needed = closure(catalog, catalog.claims_of(plan.sources, plan.claims))
    named = {claim.id for claim in needed}.union(_cited(catalog, plan.sources))
    about = _about(catalog, plan, needed) | {"sources": {*plan.sources, *catalog.sources_of(named)}}
    asked = named if plan.claims else None
    for noun, name in NOUNS.items():
        known = getattr(ours, name)
        for key, entry in getattr(given, name).items():
            if key not in about.get(name, (key,)):
                continue
            if key not in known:
                yield f"there is no {noun} '{key}'"
            elif _asked(entry, asked) != _asked(known[key], asked):
                yield f"{noun} '{key}' says other things"
    for name in ("judging", "tuning"):
        if getattr(given, name) != getattr(ours, name):
            yield f"{name}.yaml says other things"
    theirs, lock = evidence / TOOLCHAIN_LOCK, own / TOOLCHAIN_LOCK
    if theirs.is_file() and lock.is_file() and theirs.read_bytes() != lock.read_bytes():
        yield f"{TOOLCHAIN_LOCK}: pins other compilers, or other wheels"


def _about(catalog: Catalog, plan: Plan, needed: Sequence[Claim]) -> dict[str, set[str]]:
    """Return the ids of what verdicts rest on, where that may be less than all of the catalog.

    ``needed``: the claims of a run, and those that their answers rest on.
    """
    comparisons = {
        *comparisons_of(catalog, needed),
        *(name for target in plan.targets for name in target.comparisons),
    }
    return {
        "targets": {target.target for target in plan.targets}.union(
            *(claim.hardware.targets for claim in needed)
        ),
        "comparisons": comparisons,
        "variants": variants_of(catalog, comparisons),
    }


def _cited(catalog: Catalog, sources: Sequence[str]) -> Iterator[str]:
    """Yield the claims that audits of sources compute with, those of other sources among them."""
    for audit in (each for source in sources for each in catalog.sources[source].audits):
        for operand in filter(None, (*audit.operands, audit.claimed)):
            yield from (part.claim for part in operand.parts() if part.claim is not None)


def _asked(entry: Any, asked: Set[str] | None) -> Any:
    """Return an entry; of a source without the claims that nothing which was asked rests on."""
    if asked is None or not isinstance(entry, SourceClaims):
        return entry
    claims = tuple(claim for claim in entry.claims if claim.id in asked)
    return entry.model_copy(update={"claims": claims})
