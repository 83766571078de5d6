"""What a report's changed files of claims state: other figures than were judged, fewer claims, or
other things than the verifier's own files.
"""

import re
from collections.abc import Sequence, Set
from contextlib import suppress
from pathlib import Path

from assay.base.errors import AssayError, BadInput
from assay.base.io import read_record
from assay.base.strict_yaml import parse_yaml
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog, claim_files
from assay.catalog.project_folder import EVIDENCE_FOLDER, PROJECT_FILE
from assay.evidence.stages import pipeline_path
from assay.judging.verdicts import stated_value
from assay.records.attestation import PipelineRecord
from assay.records.verdicts import Verdict, VerdictsFile
from assay.shared.read_limits import MOST_YAML
from assay.verification.manifest import EVIDENCE, plain_bytes
from assay.verification.policy import Policy, own_claims, value_differences

OF_SOURCE = re.compile(r"evidence/config/claims/([a-z0-9_]+)\.yaml")
GONE = "judged, and not stated any more"
OWN_PROJECT = f"{EVIDENCE}{EVIDENCE_FOLDER}/{PROJECT_FILE}"
FIGURE_FIELDS = frozenset({"value", "unit", "relation", "claimed"})
"""Fields of a claim and an audit that its verdict has, too."""


def unlike_own(
    report_dir: Path, changed: Sequence[str], judged: Set[str], policy: Policy | None
) -> tuple[list[str], str]:
    """Return what changed files of claims say otherwise than the verifier's own (a place, a
    statement, what answers), and whose those are; nothing where nobody's are here to be compared.

    Of the figures of ``judged`` claims something is said already.
    """
    paths = [path for path in changed if OF_SOURCE.fullmatch(path)]
    if policy is None or not paths or f"{EVIDENCE}{pipeline_path()}" in changed:
        return [], ""
    found, whose = list[str](), ""
    with suppress(AssayError, ValueError):  # of what is no YAML the check of the list says enough
        commit = read_record(PipelineRecord, report_dir / EVIDENCE / pipeline_path()).commit
        own, whose = own_claims(commit, policy)
        for path in paths:
            given = plain_bytes(report_dir, path, MOST_YAML)
            ours = own.get(path.removeprefix(EVIDENCE), given)
            for name, says in value_differences(given, ours):
                _, claim, field, *_ = [*name.split("."), "", ""]
                if claim not in judged or field not in FIGURE_FIELDS:
                    found.append(says)
    return found, whose


def stated_otherwise(
    report_dir: Path, changed: Sequence[str], given: VerdictsFile
) -> dict[str, str]:
    """Return the claims that stand otherwise in changed files of claims than their verdicts say,
    each with both figures; where the files do not fit together any more, those that are gone.
    """
    catalog: Catalog | None = None
    with suppress(BadInput):
        catalog = load_catalog(report_dir / EVIDENCE)
    if catalog is None:
        return _not_stated(report_dir, changed, given)
    differing: dict[str, str] = {}
    for row in given.verdicts:
        stated_in = {f"{EVIDENCE}{path}" for path in claim_files(catalog, [row.source])}
        difference = _difference(row, catalog) if stated_in & {*changed} else ""
        if difference:
            differing.setdefault(row.claim, f"{row.claim} ({difference})")
    return differing


def _not_stated(report_dir: Path, changed: Sequence[str], given: VerdictsFile) -> dict[str, str]:
    """Return the judged claims that their changed file has no entry of any more: it is read by
    itself, for what others refer to may be what is gone.
    """
    gone: dict[str, str] = {}
    for path in changed:
        source, of_project = OF_SOURCE.fullmatch(path), path == OWN_PROJECT
        if source is None and not of_project:
            continue
        with suppress(AssayError, ValueError, TypeError, AttributeError, KeyError):
            document = parse_yaml(plain_bytes(report_dir, path, MOST_YAML).decode())
            entries = [*(document.get("claims") or ()), *(document.get("audits") or ())]
            stated = {entry["id"] for entry in entries}
            for row in given.verdicts:
                if (source is None or row.source == source[1]) and row.claim not in stated:
                    gone.setdefault(row.claim, f"{row.claim} ({GONE})")
    return gone


def _difference(row: Verdict, catalog: Catalog) -> str:
    """Return how a claim or an audit now stands otherwise than its verdict says; empty where not.

    Of an audit whose figure is another claim's, that claim tells it.
    """
    claim, entry = catalog.claims.get(row.claim), catalog.audits.get(row.claim)
    if claim is not None:
        unit = claim.unit.value if claim.unit else None
        states = {"claimed": stated_value(claim), "unit": unit, "relation": claim.relation.value}
        judged = {"claimed": row.claimed, "unit": row.unit, "relation": row.relation}
    elif entry is None:
        return GONE
    elif entry.claimed is None or entry.claimed.value is None:
        return ""
    else:
        states, judged = {"claimed": entry.claimed.value}, {"claimed": row.claimed}
    return "; ".join(
        f"{name}: judged {judged[name]}, stated {value}"
        for name, value in states.items()
        if value != judged[name]
    )
