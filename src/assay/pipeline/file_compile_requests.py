"""Files that are compiled as published: of the checkouts given, or in a report taken over from."""

from collections.abc import Sequence
from pathlib import Path

from assay.base.errors import BadInput
from assay.base.io import read_record
from assay.building.checkout_copy import describe_checkout
from assay.building.recipe import file_command
from assay.catalog.model import Catalog
from assay.evidence.stages import file_compile_path, origin_folder
from assay.pipeline.original_requests import OriginalWishes, given_checkouts
from assay.records.file_compiles import FileCompileJob, FileCompileRecord, FileCompileRequest


def find_file_compiles(
    catalog: Catalog, sources: Sequence[str], wishes: OriginalWishes
) -> tuple[FileCompileRequest, ...]:
    """Return what is compiled of the checkouts that were given: each file that claims of a source
    are about, for each architecture that they name.

    Where a program of the source runs there, too, a file may be absent. Raises BadInput for a
    checkout that holds no file of those, and what ``find_originals`` raises for one of another
    source.
    """
    found: list[FileCompileRequest] = []
    lines = {text.partition("=")[0] for text in (*wishes.builds, *wishes.runs, *wishes.figures)}
    for source, checkout in given_checkouts(wishes).items():
        claims_file = catalog.sources.get(source)
        files = claims_file.compilations if claims_file and source in sources else ()
        if not files:
            continue
        copy = describe_checkout(checkout)
        there = [published for published in files if (checkout / published.file).is_file()]
        if not there and source not in lines:
            names = ", ".join(published.file for published in files)
            raise BadInput(
                f"--original {source}={checkout}: holds no file {names}, which the source names"
            )
        for published in there:
            for arch in published.archs:
                job = FileCompileJob(
                    source=source, compilation=published.id, arch=arch, checkout=copy
                )
                found.append(FileCompileRequest(job=job, directory=str(checkout.resolve())))
    return tuple(found)


def usable_file_compiles(
    now: Catalog, lock: str, evidence: Path, target: str
) -> dict[str, FileCompileJob]:
    """Return, by evidence path, the files of sources that a report has compiled as published, by
    the command and the toolchain that this checkout would compile them by.

    ``lock``: the digest of today's toolchain lock. Those that came along with the target's figures
    count before the report's own.
    """
    found: dict[str, FileCompileJob] = {}
    for source, claims_file in now.sources.items():
        for published in claims_file.compilations:
            for arch in published.archs:
                path = file_compile_path(published.id, arch)
                places = (f"{origin_folder(target)}/{path}", path)
                held = next((each for each in places if (evidence / each).is_file()), None)
                record = read_record(FileCompileRecord, evidence / held) if held else None
                if held is None or record is None:
                    continue
                asked = (source, published.id, arch, file_command(published.file, arch), lock)
                there = (record.source, record.compilation, record.arch, record.command,
                         record.toolchain.lock_sha256)  # fmt: skip
                if there == asked:
                    found[held] = FileCompileJob(
                        source=source, compilation=published.id, arch=arch, checkout=record.checkout
                    )
    return found
