"""From ``--original`` and the lines beside it to what runs or is compiled, in which checkout.

A line that the source types whole is run as typed, and no other. What the source leaves out the
user completes, and that is recorded as the user's. A file that a claim says compiles is compiled as
published: of the checkouts given, or in a report taken over from.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.base.errors import BadInput
from assay.base.io import read_record
from assay.building.checkout_copy import describe_checkout, describe_files
from assay.building.recipe import file_command
from assay.catalog.model import Catalog
from assay.evidence.stages import file_compile_path
from assay.records.originals import (
    CheckoutCopy,
    FileCompileJob,
    FileCompileRecord,
    FileCompileRequest,
    GivenLine,
    OriginalJob,
    OriginalRequest,
    OriginalSource,
    TypedLine,
)


@dataclass(frozen=True)
class Given:
    """What was given of one source."""

    checkout: Path
    build: str | None = None
    run: str | None = None


def given_by_source(
    checkouts: Iterable[str], builds: Iterable[str], runs: Iterable[str]
) -> dict[str, Given]:
    """Return the options, each SOURCE=REST, by source. Raises BadInput for what does not fit."""
    found: dict[str, dict[str, str]] = {}
    options = {"original": checkouts, "original-build": builds, "original-run": runs}
    for option, texts in options.items():
        for text in texts:
            source, _, rest = text.partition("=")
            if not (source and rest.strip()):
                raise BadInput(f"--{option} '{text}': give it as SOURCE=...")
            given = found.setdefault(source, {})
            if option in given:
                raise BadInput(f"--{option} {source}=...: is given twice")
            if "original" not in {option, *given}:
                raise BadInput(f"a line of {source}: there is no --original {source}=DIR")
            given[option] = rest
    return {
        source: Given(Path(of["original"]), of.get("original-build"), of.get("original-run"))
        for source, of in found.items()
    }


def find_originals(
    catalog: Catalog, sources: Sequence[str], given: Mapping[str, Given], runtime: str
) -> tuple[tuple[OriginalRequest, ...], tuple[FileCompileRequest, ...]]:
    """Return what is to be built and run in which checkout, and which of its files are compiled as
    published, for each architecture that claims name. Where such files are, something runs only by
    a whole run line, or the user's. Raises BadInput for what does not fit, or needs another
    runtime.
    """
    if given and runtime != "host":
        raise BadInput(
            f"--original needs --runtime host: the images of {runtime} hold no compiler for what "
            "the source builds"
        )
    requests, compiles = list[OriginalRequest](), list[FileCompileRequest]()
    for source, own in given.items():
        entry = catalog.sources.get(source)
        original = entry.original if entry else None
        files = entry.compilations if entry and source in sources else ()
        there = [each for each in files if (own.checkout / each.file).is_file()]
        if files and not (there or own.build or own.run):
            names = ", ".join(each.file for each in files)
            raise BadInput(
                f"--original {source}={own.checkout}: holds no file {names}, which the source names"
            )
        typed_whole = original and original.run and original.run.lacks is None
        runs = not files or own.build or own.run or typed_whole
        if runs and original is None:
            known = [name for name, each in catalog.sources.items() if each.original]
            raise BadInput(
                f"--original {source}=...: no program of a source '{source}' runs from a checkout; "
                f"known: {', '.join(known) or 'none'}"
            )
        if source not in sources:
            raise BadInput(f"--original {source}=...: source {source} is not asked for in this run")
        copy, folder = describe_checkout(own.checkout), str(own.checkout.resolve())
        if runs and original and entry:
            for job in _jobs(original, entry.other_builds, source, own, copy):
                requests.append(OriginalRequest(job=job, directory=folder))
        for file, arch in ((each, arch) for each in there for arch in each.archs):
            compiled = FileCompileJob(source=source, compilation=file.id, arch=arch, checkout=copy)
            compiles.append(FileCompileRequest(job=compiled, directory=folder))
    return tuple(requests), tuple(compiles)


def _jobs(
    original: OriginalSource,
    others: Iterable[OriginalSource],
    source: str,
    own: Given,
    copy: CheckoutCopy,
) -> Iterator[OriginalJob]:
    """Yield a source's program, also with other settings of its build line. Raises BadInput."""
    build = _line(source, "build", original.build, own.build)
    run = _line(source, "run", original.run, own.run)
    if run is None:
        raise BadInput(
            f"--original {source}: the source types no run line: give one with "
            f"--original-run '{source}=LINE'"
        )
    for name, there in ((original.file, Path.is_file), (original.directory, Path.is_dir)):
        if name is not None and not there(own.checkout / name):
            raise BadInput(f"--original {source}={own.checkout}: holds no {name}")
    job = OriginalJob(source=source, original=original.id, checkout=copy, build=build, run=run)
    yield job
    for other in others:
        line = other.built_by(build) if build else None
        if line != build:
            yield job.model_copy(update={"original": other.id, "build": line})


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


def usable_file_compiles(now: Catalog, lock: str, records: Path) -> tuple[FileCompileJob, ...]:
    """Return published files compiled in ``records`` by today's command and toolchain."""
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
