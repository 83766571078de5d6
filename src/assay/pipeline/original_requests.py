"""From ``--original`` and the lines beside it to what runs or is compiled, in which checkout.

A line that the source types whole is run as typed, and no other. What the source leaves out the
user completes, and that is recorded as the user's. A file that a claim says compiles is compiled as
published: of the checkouts given, or in a report taken over from.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    GivenFigure,
    GivenLine,
    OriginalJob,
    OriginalRequest,
    OriginalSource,
    TypedLine,
)
from assay.records.plan import Provision
from assay.shared.output_patterns import BadPattern
from assay.shared.output_readers import parse_reader

FIGURE = "--original-figure"


@dataclass(frozen=True)
class OriginalWishes:
    """The options as they were typed, each SOURCE=REST."""

    checkouts: tuple[str, ...] = ()
    builds: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    """Each SOURCE=CLAIM=PATTERN; several of one source."""


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
    figures = _figures(wishes.figures)
    for source in (*builds, *runs, *figures):
        if source not in checkouts:
            raise BadInput(f"a line or a pattern of {source}: there is no --original {source}=DIR")
    if checkouts and runtime != "host":
        raise BadInput(
            f"--original needs --runtime host: the images of {runtime} hold no compiler for what "
            "the source builds"
        )
    found = []
    for source, folder in checkouts.items():
        build, run, patterns = builds.get(source), runs.get(source), figures.get(source, {})
        if build or run or patterns or not only_compiles(catalog, sources, source):
            original = _described(catalog, sources, source)
            lines = (
                _line(source, "build", original.build, build),
                _line(source, "run", original.run, run),
            )
            found.append(_request(source, original, Path(folder), lines, patterns))
            found += _other_builds(catalog.sources[source].other_builds, found[-1])
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
            changed = {"original": other.id, "build": line, "figures": ()}
            yield first.model_copy(update={"job": first.job.model_copy(update=changed)})


def only_compiles(catalog: Catalog, sources: Sequence[str], source: str) -> bool:
    """Return whether a checkout of a source, given without lines, is there to be compiled from."""
    claims_file = catalog.sources.get(source)
    if claims_file is None or source not in sources or not claims_file.compilations:
        return False
    original = claims_file.original
    return original is None or original.run is None or original.run.lacks is not None


def project_commands(
    catalog: Catalog, sources: Sequence[str], folder: Path
) -> tuple[OriginalRequest, ...]:
    """Return the commands of a project's sources, to be built and run in a copy of its files."""
    if catalog.project is None:
        return ()
    described = [(source, each) for source in sources for each in catalog.sources[source].commands]
    copy = describe_files(folder, catalog.project.files)
    found = []
    for source, original in described:
        assert original.run is not None
        build = original.build
        job = OriginalJob(
            source=source,
            original=original.id,
            checkout=copy,
            build=None if build is None else GivenLine(line=build.line, by="source"),
            run=GivenLine(line=original.run.line, by="source"),
            typed=None
            if original.typed is None
            else GivenLine(line=original.typed.line, by="source"),
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


def _figures(given: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the pattern of each claim of each source. Raises BadInput as ``_by_source`` does, and
    for what is no pattern.
    """
    found: dict[str, dict[str, str]] = {}
    for text in given:
        source, _, rest = text.partition("=")
        for claim, pattern in _by_source(FIGURE, "SOURCE=CLAIM=PATTERN", [rest]).items():
            if claim in found.setdefault(source, {}):
                raise BadInput(f"{FIGURE} {source}={claim}=...: is given twice")
            try:
                found[source][claim] = parse_reader(pattern).text
            except BadPattern as error:
                raise BadInput(f"{FIGURE} {source}={claim}=...: {error}") from error
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
    source: str,
    original: OriginalSource,
    checkout: Path,
    lines: tuple[GivenLine | None, GivenLine | None],
    patterns: Mapping[str, str],
) -> OriginalRequest:
    build, run = lines
    if run is None:
        raise BadInput(
            f"--original {source}: the source types no run line: give one with "
            f"--original-run '{source}=LINE'"
        )
    answered = [figure.claim for figure in original.figures]
    for claim in patterns.keys() - set(answered):
        raise BadInput(
            f"{FIGURE} {source}={claim}=...: the source's program answers no claim of that name, "
            f"but {', '.join(answered)}"
        )
    copy = describe_checkout(checkout)
    if original.file is not None and not (checkout / original.file).is_file():
        raise BadInput(f"--original {source}={checkout}: holds no file {original.file}")
    if not (checkout / original.directory).is_dir():
        raise BadInput(f"--original {source}={checkout}: holds no directory {original.directory}")
    figures = tuple(GivenFigure(claim=each, pattern=text) for each, text in patterns.items())
    job = OriginalJob(
        source=source, original=original.id, checkout=copy, build=build, run=run, figures=figures
    )
    return OriginalRequest(job=job, directory=str(checkout.resolve()))


def _line(source: str, what: str, typed: TypedLine | None, given: str | None) -> GivenLine | None:
    """Return the line that runs: the source's own where that is whole, else the user's."""
    option = f"--original-{what}"
    whole = typed is not None and typed.lacks is None
    if typed is not None and whole and given is not None:
        raise BadInput(
            f"{option} {source}=...: the source types its {what} line whole (line "
            f"{typed.place.line}), and that one runs"
        )
    if typed is not None and not whole and given is None:
        raise BadInput(
            f"--original {source}: the {what} line that the source types (line {typed.place.line}) "
            f"lacks {typed.lacks}: complete it with {option} '{source}=LINE'"
        )
    if typed is not None and whole:
        return GivenLine(line=typed.line, by="source")
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
    lines = {text.partition("=")[0] for text in (*wishes.builds, *wishes.runs, *wishes.figures)}
    for source, folder in _by_source("--original", "SOURCE=DIR", wishes.checkouts).items():
        checkout = Path(folder)
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


def usable_file_compiles(now: Catalog, lock: str, records: Path) -> tuple[FileCompileJob, ...]:
    """Return the files of sources that a run has compiled as published, by the command and the
    toolchain that this checkout would compile them by.

    ``lock``: the digest of today's toolchain lock. ``records``: the folder of the run's own.
    """
    found: list[FileCompileJob] = []
    for source, claims_file in now.sources.items():
        for published in claims_file.compilations:
            for arch in published.archs:
                path = records / file_compile_path(published.id, arch)
                if not path.is_file():
                    continue
                record = read_record(FileCompileRecord, path)
                asked = (source, published.id, arch, file_command(published.file, arch), lock)
                there = (record.source, record.compilation, record.arch, record.command,
                         record.toolchain.lock_sha256)  # fmt: skip
                if there == asked:
                    found.append(
                        FileCompileJob(
                            source=source,
                            compilation=published.id,
                            arch=arch,
                            checkout=record.checkout,
                        )
                    )
    return tuple(found)
