"""From ``--original`` and the lines beside it to what runs or is compiled, in which checkout.

A line that the source types whole is run as typed, and no other. What the source leaves out the
user completes, and that is recorded as the user's. A file that a claim says compiles is compiled as
published: of the checkouts given, or in a report taken over from.
"""

import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.base.errors import BadInput, MissingEnvironment
from assay.base.io import read_record
from assay.building.checkout_copy import describe_checkout, describe_files
from assay.building.recipe import file_command
from assay.catalog.model import Catalog
from assay.evidence.stages import file_compile_path, origin_folder
from assay.records.file_compiles import FileCompileJob, FileCompileRecord, FileCompileRequest
from assay.records.originals import (
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

SHELL_WORDS = frozenset(("cd", "export", "set", ".", "source", ":", "[", "{", "(", "!"))
"""First words of a line that name no program."""


@dataclass(frozen=True)
class OriginalWishes:
    """The options as they were typed, each SOURCE=REST."""

    checkouts: tuple[str, ...] = ()
    builds: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    """Each SOURCE=CLAIM=PATTERN; several of one source."""


NO_ORIGINALS = OriginalWishes()
_FIGURE = "--original-figure"


@dataclass(frozen=True)
class _Given:
    """What the user gave for one source."""

    build: str | None
    run: str | None
    figures: Mapping[str, str]
    """Claim to pattern."""


def find_originals(
    catalog: Catalog, sources: Sequence[str], wishes: OriginalWishes, runtime: str
) -> tuple[OriginalRequest, ...]:
    """Return what is to be built and run in which checkout.

    Of a source whose claims name files to be compiled as published, and that types no whole run
    line, nothing runs unless the user gives lines: see ``file_compile_requests``. Raises BadInput
    for what does not fit together or is no checkout of the source's program, and for a runtime
    whose images hold no compiler.
    """
    checkouts = _parsed("--original", "DIR", wishes.checkouts)
    builds = _parsed("--original-build", "LINE", wishes.builds)
    runs = _parsed("--original-run", "LINE", wishes.runs)
    figures = _figures(wishes.figures)
    beside = (("--original-build", builds), ("--original-run", runs), (_FIGURE, figures))
    asked = builds.keys() | runs.keys() | figures.keys()
    for option, given in beside:
        for source in given.keys() - checkouts.keys():
            raise BadInput(f"{option} {source}=...: there is no --original {source}=DIR beside it")
    if checkouts and runtime != "host":
        raise BadInput(
            f"--original needs --runtime host: the images of {runtime} hold no compiler for what "
            "the source builds"
        )
    return tuple(
        _request(
            catalog,
            sources,
            source,
            Path(folder),
            _Given(builds.get(source), runs.get(source), figures.get(source, {})),
        )
        for source, folder in checkouts.items()
        if source in asked or not only_compiles(catalog, sources, source)
    )


def only_compiles(catalog: Catalog, sources: Sequence[str], source: str) -> bool:
    """Return whether a checkout of a source, given without lines, is there to be compiled from."""
    claims_file = catalog.sources.get(source)
    if claims_file is None or source not in sources or not claims_file.compilations:
        return False
    original = claims_file.original
    return original is None or original.run is None or original.run.lacks is not None


def given_checkouts(wishes: OriginalWishes) -> dict[str, Path]:
    """Return the checkout that was given for each source. Raises BadInput for another form."""
    parsed = _parsed("--original", "DIR", wishes.checkouts)
    return {source: Path(folder) for source, folder in parsed.items()}


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
    originals: Iterable[OriginalRequest], provisions: Iterable[Provision], *, local: bool
) -> None:
    """Raise MissingEnvironment where no GPU of this run could run what a user gave, or nothing
    compiles it.
    """
    for original in originals:
        source = original.job.source
        if not any(provision.kind == "device" for provision in provisions):
            raise MissingEnvironment(
                f"--original {source}: it runs on a GPU, and no target of this run is measured here"
            )
        line = original.job.build
        if local and line is not None and (missing := _missing(line.line)) is not None:
            raise MissingEnvironment(
                f"--original {source}: its build line starts {missing}, which is not on PATH"
            )


def _parsed(option: str, noun: str, given: Iterable[str]) -> dict[str, str]:
    """Return what was given for each source. Raises BadInput for another form, or two of one."""
    found: dict[str, str] = {}
    for text in given:
        source, equals, rest = text.partition("=")
        if not (source and equals and rest.strip()):
            raise BadInput(f"{option} '{text}': give it as SOURCE={noun}")
        if source in found:
            raise BadInput(f"{option} {source}=...: is given twice")
        found[source] = rest
    return found


def _figures(given: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return what was given for each claim of each source. Raises BadInput as ``_parsed`` does, and
    for what is no pattern.
    """
    found: dict[str, dict[str, str]] = {}
    for text in given:
        parts = text.split("=", 2)
        if len(parts) < 3 or not all(part.strip() for part in parts):
            raise BadInput(f"{_FIGURE} '{text}': give it as SOURCE=CLAIM=PATTERN")
        source, claim, pattern = parts
        if claim in found.setdefault(source, {}):
            raise BadInput(f"{_FIGURE} {source}={claim}=...: is given twice")
        try:
            found[source][claim] = parse_reader(pattern).text
        except BadPattern as error:
            raise BadInput(f"{_FIGURE} {source}={claim}=...: {error}") from error
    return found


def _request(
    catalog: Catalog, sources: Sequence[str], source: str, checkout: Path, given: _Given
) -> OriginalRequest:
    original = _described(catalog, source)
    if source not in sources:
        raise BadInput(f"--original {source}=...: source {source} is not asked for in this run")
    build = _line(source, "build", original.build, given.build, needed=False)
    run = _line(source, "run", original.run, given.run, needed=True)
    assert run is not None
    answered = [figure.claim for figure in original.figures]
    for claim in given.figures.keys() - set(answered):
        raise BadInput(
            f"{_FIGURE} {source}={claim}=...: the source's program answers no claim of that name, "
            f"but {', '.join(answered)}"
        )
    copy = describe_checkout(checkout)
    file, directory = original.file, original.directory
    for name, what, there in (
        (file, "file", file is None or (checkout / file).is_file()),
        (directory, "directory", (checkout / directory).is_dir()),
    ):
        if not there:
            raise BadInput(f"--original {source}={checkout}: holds no {what} {name}, which the "
                           "source names")  # fmt: skip
    figures = tuple(GivenFigure(claim=each, pattern=text) for each, text in given.figures.items())
    job = OriginalJob(
        source=source, original=original.id, checkout=copy, build=build, run=run, figures=figures
    )
    return OriginalRequest(job=job, directory=str(checkout.resolve()))


def _described(catalog: Catalog, source: str) -> OriginalSource:
    known: Mapping[str, OriginalSource] = {
        name: entry.original for name, entry in catalog.sources.items() if entry.original
    }
    if source not in known:
        raise BadInput(
            f"--original {source}=...: no program of a source '{source}' runs from a checkout; "
            f"known: {', '.join(known) or 'none'}"
        )
    return known[source]


def _line(
    source: str, what: str, typed: TypedLine | None, given: str | None, *, needed: bool
) -> GivenLine | None:
    """Return the line that runs: the source's own where that is whole, else the user's."""
    option = f"--original-{what}"
    if typed is not None and typed.lacks is None:
        if given is not None:
            raise BadInput(
                f"{option} {source}=...: the source types its {what} line whole (line "
                f"{typed.place.line}), and that one runs"
            )
        return GivenLine(line=typed.line, by="source")
    if given is not None:
        return GivenLine(line=given, by="user")
    if typed is not None:
        raise BadInput(
            f"--original {source}: the {what} line that the source types (line {typed.place.line}) "
            f"lacks {typed.lacks}: complete it with {option} '{source}=LINE'"
        )
    if needed:
        raise BadInput(
            f"--original {source}: the source types no {what} line: give one with "
            f"{option} '{source}=LINE'"
        )
    return None


def _missing(line: str) -> str | None:
    """Return the program that a line starts, where it is a plain name that is not on PATH."""
    try:
        words = shlex.split(line)
    except ValueError:
        return None
    if not words or "=" in words[0] or "/" in words[0] or words[0] in SHELL_WORDS:
        return None
    return None if shutil.which(words[0]) else words[0]


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
