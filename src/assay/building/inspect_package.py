"""Counting in files of the pinned packages, for claims about their size."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from assay.base.errors import BadInput
from assay.base.io import read_record
from assay.building.toolchain import ensure_packages, locked_versions
from assay.records.builds import InspectionResult, InspectionsRecord
from assay.records.claims import Claim
from assay.records.evaluations import Inspection
from assay.shared.files import sha256_bytes


def inspect_or_take(
    root: Path, claims: Iterable[Claim], prebuilt: Path | None
) -> InspectionsRecord:
    """Inspect the packages, or take ``prebuilt/inspections.json`` where it answers the same.

    A node without a network has no wheels; the lock says which files the other machine read. Where
    no claim inspects anything, no wheels are asked for.
    Raises MissingEnvironment where neither is to be had.
    """
    wanted = [(c.id, c.evaluation) for c in claims if isinstance(c.evaluation, Inspection)]
    if not wanted:
        return InspectionsRecord(schema="assay/inspections/1", inspections=())
    if prebuilt is not None and (prebuilt / "inspections.json").is_file():
        record = read_record(InspectionsRecord, prebuilt / "inspections.json")
        held = {(i.claim, i.package, i.path, i.text, i.version): i for i in record.inspections}
        pinned = locked_versions(root)
        asked = [(name, e.package, e.path, e.text, pinned.get(e.package, "")) for name, e in wanted]
        if all(key in held for key in asked):
            return record.model_copy(update={"inspections": tuple(held[key] for key in asked)})
    return inspect_packages(wanted, ensure_packages(root), locked_versions(root))


def inspect_packages(
    wanted: Iterable[tuple[str, Inspection]], site: Path, versions: Mapping[str, str]
) -> InspectionsRecord:
    """Count lines (by their line feeds), bytes and matches of a text, which may be a folder's.

    Raises BadInput for a package outside the lock or a path outside the packages.
    """
    found = tuple(_inspect(claim, each, site, versions) for claim, each in wanted)
    return InspectionsRecord(schema="assay/inspections/1", inspections=found)


def _inspect(
    claim: str, wanted: Inspection, site: Path, versions: Mapping[str, str]
) -> InspectionResult:
    if wanted.package not in versions:
        raise BadInput(f"claim '{claim}': the toolchain lock pins no package '{wanted.package}'")
    files = _files(claim, wanted, site)
    contents = [path.read_bytes() for path in files]
    digests = [sha256_bytes(data) for data in contents]
    listed = "".join(
        f"{digest}  {path.relative_to(site).as_posix()}\n"
        for digest, path in zip(digests, files, strict=True)
    )
    sought = wanted.text.encode() if wanted.text else None
    whole = (site / wanted.path).is_file()
    return InspectionResult(
        claim=claim,
        package=wanted.package,
        version=versions[wanted.package],
        path=wanted.path,
        lines=sum(data.count(b"\n") for data in contents),
        bytes=sum(len(data) for data in contents),
        sha256=digests[0] if whole else sha256_bytes(listed.encode()),
        text=wanted.text,
        matches=None if sought is None else sum(data.count(sought) for data in contents),
    )


def _files(claim: str, wanted: Inspection, site: Path) -> list[Path]:
    """Return the file that is named, or for a text all files of the folder, in sorted order."""
    path = site / wanted.path
    inside = path.resolve().is_relative_to(site.resolve())
    if inside and path.is_file():
        return [path]
    if inside and wanted.text is not None and path.is_dir():
        found = sorted(entry for entry in path.rglob("*") if entry.is_file())
        return [entry for entry in found if "__pycache__" not in entry.parts]
    raise BadInput(f"claim '{claim}': {wanted.package} has no file {wanted.path}")
