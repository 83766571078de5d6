"""From ``--original`` and the lines beside it to what runs or is compiled, in which checkout.

A line that the source types whole is run as typed, and no other. What the source leaves out the
user completes, and that is recorded as the user's. A file that a claim says compiles is compiled as
published: of the checkouts given, or in a report taken over from.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.base.errors import BadInput
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


@dataclass(frozen=True)
class Given:
    """What was given of one source."""

    checkout: Path
    build: str | None
    run: str | None


@dataclass(frozen=True)
class OriginalWishes:
    """The options as they were typed, each SOURCE=REST."""

    checkouts: tuple[str, ...] = ()
    builds: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()

    def by_source(self) -> dict[str, Given]:
        """Return what was given of each source. Raises BadInput for what does not fit together."""
        found: dict[str, dict[str, str]] = {}
        options = {"original": self.checkouts, "original-build": self.builds,
                   "original-run": self.runs}  # fmt: skip
        for option, texts in options.items():
            given = found.setdefault(option, {})
            for text in texts:
                source, equals, rest = text.partition("=")
                if not (source and equals and rest.strip()):
                    raise BadInput(f"--{option} '{text}': give it as SOURCE=...")
                if source in given:
                    raise BadInput(f"--{option} {source}=...: is given twice")
                if option != "original" and source not in found["original"]:
                    raise BadInput(f"a line of {source}: there is no --original {source}=DIR")
                given[source] = rest
        folders, builds, runs = found.values()
        return {
            source: Given(Path(folder), builds.get(source), runs.get(source))
            for source, folder in folders.items()
        }


def find_originals(
    catalog: Catalog, sources: Sequence[str], wishes: OriginalWishes, runtime: str
) -> tuple[OriginalRequest, ...]:
    """Return what is to be built and run in which checkout.

    Of a source whose claims name files to be compiled as published, and that types no whole run
    line, nothing runs unless the user gives lines: see ``find_file_compiles``. Raises BadInput
    for what does not fit together or is no checkout of the source's program, and for a runtime
    whose images hold no compiler.
    """
    wanted, found = wishes.by_source(), list[OriginalRequest]()
    if wanted and runtime != "host":
        raise BadInput(
            f"--original needs --runtime host: the images of {runtime} hold no compiler for what "
            "the source builds"
        )
    for source, given in wanted.items():
        original = catalog.sources[source].original if source in catalog.sources else None
        typed_whole = original and original.run and original.run.lacks is None
        lines = given.build or given.run or typed_whole
        if not lines and _published_files(catalog, sources, source):
            continue  # its checkout is there to be compiled from
        if original is None:
            known = [name for name, entry in catalog.sources.items() if entry.original]
            raise BadInput(
                f"--original {source}=...: no program of a source '{source}' runs from a checkout; "
                f"known: {', '.join(known) or 'none'}"
            )
        if source not in sources:
            raise BadInput(f"--original {source}=...: source {source} is not asked for in this run")
        first = _request(original, source, given)
        found.append(first)
        for other in catalog.sources[source].other_builds if first.job.build else ():
            # The same program with other settings, where its build line has them.
            line = other.built_by(first.job.build) if first.job.build else None
            if line is not None and line != first.job.build:
                changed = {"original": other.id, "build": line}
                found.append(first.model_copy(update={"job": first.job.model_copy(update=changed)}))
    return tuple(found)


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


def _request(original: OriginalSource, source: str, given: Given) -> OriginalRequest:
    build_line = _line(source, "build", original.build, given.build)
    run_line = _line(source, "run", original.run, given.run)
    if run_line is None:
        raise BadInput(
            f"--original {source}: the source types no run line: give one with "
            f"--original-run '{source}=LINE'"
        )
    copy = describe_checkout(given.checkout)
    for name, there in ((original.file, Path.is_file), (original.directory, Path.is_dir)):
        if name is not None and not there(given.checkout / name):
            raise BadInput(f"--original {source}={given.checkout}: holds no {name}")
    job = OriginalJob(
        source=source, original=original.id, checkout=copy, build=build_line, run=run_line
    )
    return OriginalRequest(job=job, directory=str(given.checkout.resolve()))


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
    for source, given in wishes.by_source().items():
        files = _published_files(catalog, sources, source)
        if not files:
            continue
        there = [published for published in files if (given.checkout / published.file).is_file()]
        if not (there or given.build or given.run):
            names = ", ".join(published.file for published in files)
            raise BadInput(
                f"--original {source}={given.checkout}: holds no file {names}, which the source "
                "names"
            )
        copy, folder = describe_checkout(given.checkout), str(given.checkout.resolve())
        for file, arch in ((each, arch) for each in there for arch in each.archs):
            job = FileCompileJob(source=source, compilation=file.id, arch=arch, checkout=copy)
            found.append(FileCompileRequest(job=job, directory=folder))
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
