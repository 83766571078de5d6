"""Files to be compiled as published: by name, and checked against the claims on them. Pure."""

from assay.base.errors import BadInput
from assay.catalog.model import Catalog
from assay.records.evaluations import Compiles
from assay.records.file_compiles import PublishedFile


def published_file(catalog: Catalog, source: str, name: str) -> PublishedFile | None:
    """Return the file of a source that has an id; None where it lists none of that id."""
    listed = catalog.sources[source].compilations if source in catalog.sources else ()
    return next((each for each in listed if each.id == name), None)


def check_published_files(catalog: Catalog) -> None:
    """Raise BadInput for an id that two files have, and for a claim on a file or architecture that
    its source does not list.
    """
    owners: dict[str, str] = {}
    for source, claims_file in catalog.sources.items():
        for published in claims_file.compilations:
            if published.id in owners:
                raise BadInput(
                    f"{source}.yaml: compilation '{published.id}': source {owners[published.id]} "
                    "has one of that id"
                )
            owners[published.id] = source
    for claim in catalog.claims.values():
        if isinstance(claim.evaluation, Compiles):
            source = catalog.source_of[claim.id]
            listed = published_file(catalog, source, claim.evaluation.compilation)
            if listed is None or claim.evaluation.arch not in listed.archs:
                raise BadInput(
                    f"{source}.yaml: claim '{claim.id}': the source has no compilation "
                    f"'{claim.evaluation.compilation}' for {claim.evaluation.arch}"
                )
