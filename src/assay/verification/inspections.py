"""Whether counts in files of pinned packages are of what the claims ask for. Pure.

The files are not in the evidence: of how much is in them nothing tells but looking again.
"""

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import inspections_path
from assay.records.evaluations import Inspection
from assay.records.inspections import InspectionResult
from assay.verification.contradictions import Findings


def check_inspections(catalog: Catalog, evidence: Evidence, findings: Findings) -> None:
    """Add counts of another file, text or version, and those that cannot be."""
    seen: dict[tuple[str, str], tuple[int, int, str]] = {}
    wheels = {
        name: version
        for build in evidence.builds.values()
        for name, version in build.toolchain.wheels.items()
    }
    for name, found in evidence.inspections.items():
        asked = catalog.claims[name].evaluation if name in catalog.claims else None
        if not isinstance(asked, Inspection):
            continue  # of a claim that nobody asks for here
        whole = (found.lines, found.bytes, found.sha256)
        for wrong in (
            _of_another(asked, found),
            _impossible(found),
            "is of another version than the wheel that compiled"
            if found.version != wheels.get(found.package, found.version)
            else None,
            "says otherwise of a file than another claim's"
            if seen.setdefault((found.package, found.path), whole) != whole
            else None,
        ):
            if wrong:
                findings.refuse("inspection", f"{inspections_path()}: {name} {wrong}")


def _of_another(asked: Inspection, found: InspectionResult) -> str | None:
    if (found.package, found.path, found.text) != (asked.package, asked.path, asked.text):
        return "is of another package, file or text than the claim asks for"
    return None


def _impossible(found: InspectionResult) -> str | None:
    counts = (found.lines, found.bytes, found.matches or 0)
    if min(counts) < 0 or found.lines > found.bytes or (found.matches or 0) > found.bytes:
        return "counts more in a file than it has bytes, or less than nothing"
    if (found.matches is None) != (found.text is None):
        return "counts a text that it does not name, or none that it does"
    return None
