"""From ``--original`` and the lines beside it to what runs or is compiled, in which checkout.

A line that the source types whole is run as typed, and no other. What the source leaves out the
user completes, and that is recorded as the user's. A file that a claim says compiles is compiled as
published: of the checkouts given, or in a report taken over from.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.base.errors import BadInput, MissingEnvironment
from assay.base.io import read_record
from assay.building.checkout_copy import describe_checkout, describe_files
from assay.building.recipe import file_command
from assay.catalog.model import Catalog
from assay.evidence.stages import file_compile_path
from assay.records.originals import (
    FileCompileJob,
    FileCompileRecord,
    FileCompileRequest,
    GivenLine,
    OriginalJob,
    OriginalRequest,
    OriginalSource,
    PublishedFile,
    TypedLine,
)
from assay.records.plan import Provision


@dataclass(frozen=True)
class OriginalWishes:
    """The options as they were typed, each SOURCE=REST."""

    checkouts: tuple[str, ...] = ()
    builds: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()


def find_originals(
    catalog: Catalog, sources: Sequence[str], wishes: OriginalWishes, runtime: str
) -> tuple[OriginalRequest, ...]:
    """Return what is to be built and run in which checkout.

    Of a source whose claims name files to be compiled as published, and that types no whole run
    line, nothing runs unless the user gives lines: see ``find_file_compiles``. Raises BadInput
    for what does not fit together or is no checkout of the source's program, and for a runtime
    whose images hold no compiler.
    """
    checkouts = _by_source("--original", "SOURCE=DIR", wishes.checkouts)
    builds = _by_source("--original-build", "SOURCE=LINE", wishes.builds)
    runs = _by_source("--original-run", "SOURCE=LINE", wishes.runs)
    for source in (*builds, *runs):
        if source not in checkouts:
            raise BadInput(f"a line of {source}: there is no --original {source}=DIR")
    if checkouts and runtime != "host":
        raise BadInput(
            f"--original needs --runtime host: the images of {runtime} hold no compiler for what "
            "the source builds"
        )
    found = []
    for source, folder in checkouts.items():
        build, run = builds.get(source), runs.get(source)
        if not (build or run) and _only_compiles(catalog, sources, source):
            continue
        first = _request(_described(catalog, sources, source), source, Path(folder), build, run)
        found += [first, *_other_builds(catalog.sources[source].other_builds, first)]
    return tuple(found)


def _other_builds(
    others: Iterable[OriginalSource], first: OriginalRequest
) -> Iterator[OriginalRequest]:
    """Yield what builds the same program with other settings, in the same checkout, where its build
    line has them.
    """
    for other in others:
        line = None if first.job.build is None else other.built_by(first.job.build)
        if line is not None and line != first.job.build:
            changed = {"original": other.id, "build": line}
            yield first.model_copy(update={"job": first.job.model_copy(update=changed)})


def _only_compiles(catalog: Catalog, sources: Sequence[str], source: str) -> bool:
    """Return whether a checkout of a source, given without lines, is there to be compiled from."""
    if not _published_files(catalog, sources, source):
        return False
    original = catalog.sources[source].original
    return original is None or original.run is None or original.run.lacks is not None


def project_commands(
    catalog: Catalog, sources: Sequence[str], folder: Path
) -> tuple[OriginalRequest, ...]:
    """Return the commands of a project's sources, to be built and run in a copy of its files."""
    if catalog.project is None:
        return ()
    copy, found = describe_files(folder, catalog.project.files), []
    for source in sources:
        for command in catalog.sources[source].commands:
            build, run, typed = (
                None if line is None else GivenLine(line=line.line, by="source")
                for line in (command.build, command.run, command.typed)
            )
            assert run is not None
            job = OriginalJob(
                source=source, original=command.id, checkout=copy, build=build, run=run, typed=typed
            )
            found.append(OriginalRequest(job=job, directory=str(folder.resolve())))
    return tuple(found)


def require_originals(
    originals: Iterable[OriginalRequest], provisions: Iterable[Provision]
) -> None:
    """Raise MissingEnvironment where no GPU of this run could run what a user gave."""
    measured = any(provision.kind == "device" for provision in provisions)
    for original in () if measured else originals:
        raise MissingEnvironment(
            f"--original {original.job.source}: it runs on a GPU, and no target of this run is "
            "measured here"
        )


def _by_source(option: str, form: str, given: Iterable[str]) -> dict[str, str]:
    """Return what was given for each source. Raises BadInput for another form, or two of one."""
    found: dict[str, str] = {}
    for text in given:
        source, equals, rest = text.partition("=")
        if not (source and equals and rest.strip()):
            raise BadInput(f"{option} '{text}': give it as {form}")
        if source in found:
            raise BadInput(f"{option} {source}=...: is given twice")
        found[source] = rest
    return found


def _described(catalog: Catalog, sources: Sequence[str], source: str) -> OriginalSource:
    known = {name: entry.original for name, entry in catalog.sources.items() if entry.original}
    if source not in known:
        raise BadInput(
            f"--original {source}=...: no program of a source '{source}' runs from a checkout; "
            f"known: {', '.join(known) or 'none'}"
        )
    if source not in sources:
        raise BadInput(f"--original {source}=...: source {source} is not asked for in this run")
    return known[source]


def _request(
    original: OriginalSource, source: str, checkout: Path, build: str | None, run: str | None
) -> OriginalRequest:
    build_line = _line(source, "build", original.build, build)
    run_line = _line(source, "run", original.run, run)
    if run_line is None:
        raise BadInput(
            f"--original {source}: the source types no run line: give one with "
            f"--original-run '{source}=LINE'"
        )
    copy = describe_checkout(checkout)
    if original.file is not None and not (checkout / original.file).is_file():
        raise BadInput(f"--original {source}={checkout}: holds no file {original.file}")
    if not (checkout / original.directory).is_dir():
        raise BadInput(f"--original {source}={checkout}: holds no directory {original.directory}")
    job = OriginalJob(
        source=source, original=original.id, checkout=copy, build=build_line, run=run_line
    )
    return OriginalRequest(job=job, directory=str(checkout.resolve()))


def _line(source: str, what: str, typed: TypedLine | None, given: str | None) -> GivenLine | None:
    """Return the line that runs: the source's own where that is whole, else the user's."""
    option = f"--original-{what}"
    if typed is not None and typed.lacks is None:
        if given is not None:
            raise BadInput(
                f"{option} {source}=...: the source types its {what} line whole (line "
                f"{typed.place.line}), and that one runs"
            )
        return GivenLine(line=typed.line, by="source")
    if typed is not None and given is None:
        raise BadInput(
            f"--original {source}: the {what} line that the source types (line {typed.place.line}) "
            f"lacks {typed.lacks}: complete it with {option} '{source}=LINE'"
        )
    return None if given is None else GivenLine(line=given, by="user")


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
    lines = {text.partition("=")[0] for text in (*wishes.builds, *wishes.runs)}
    for source, folder in _by_source("--original", "SOURCE=DIR", wishes.checkouts).items():
        checkout, files = Path(folder), _published_files(catalog, sources, source)
        if not files:
            continue
        copy = describe_checkout(checkout)
        there = [published for published in files if (checkout / published.file).is_file()]
        if not there and source not in lines:
            names = ", ".join(published.file for published in files)
            raise BadInput(
                f"--original {source}={checkout}: holds no file {names}, which the source names"
            )
        found += [
            FileCompileRequest(
                job=FileCompileJob(
                    source=source, compilation=published.id, arch=arch, checkout=copy
                ),
                directory=str(checkout.resolve()),
            )
            for published in there
            for arch in published.archs
        ]
    return tuple(found)


def _published_files(
    catalog: Catalog, sources: Sequence[str], source: str
) -> tuple[PublishedFile, ...]:
    """Return the files that claims of a source that is asked for are about."""
    known = source in catalog.sources and source in sources
    return catalog.sources[source].compilations if known else ()


def usable_file_compiles(now: Catalog, lock: str, records: Path) -> tuple[FileCompileJob, ...]:
    """Return the files of sources that a run has compiled as published, by the command and the
    toolchain that this checkout would compile them by.

    ``lock``: the digest of today's toolchain lock. ``records``: the folder of the run's own.
    """
    found: list[FileCompileJob] = []
    for source, claims_file in now.sources.items():
        for file, arch in ((f, arch) for f in claims_file.compilations for arch in f.archs):
            path = records / file_compile_path(file.id, arch)
            if not path.is_file():
                continue
            record = read_record(FileCompileRecord, path)
            there = (record.source, record.compilation, record.arch, record.command)
            asked = (source, file.id, arch, file_command(file.file, arch))
            if there == asked and record.toolchain.lock_sha256 == lock:
                copy = record.checkout
                job = FileCompileJob(source=source, compilation=file.id, arch=arch, checkout=copy)
                found.append(job)
    return tuple(found)
