"""Running nvcc so that equal inputs give equal bytes, and reading what ptxas says.

The recipe: one fixed directory per key, sources and headers with one date, intermediate files kept
under fixed names (``--keep``), no environment variable that nvcc reads. nvcc mangles names with
internal linkage by path, writes the dates of files into line tables, and embeds the names of
temporary files: elsewhere the bytes would differ.
"""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from assay.base.errors import MissingEnvironment
from assay.base.printable import shown_line
from assay.base.progress import exclusive, ticking
from assay.building.line_tables import code_digest, count_instructions
from assay.building.recipe import CUTLASS, TOOL, Compilation, Tree
from assay.building.toolchain import CUDA, DATE, Toolchain
from assay.records.builds import CompileCost, FileDigest, KernelResources
from assay.records.platform import PTX
from assay.runtimes.base import Bind, CommandOutcome, Task
from assay.shared.files import sha256_file

SCRATCH = Path("/tmp")  # noqa: S108 - the same on every machine; names below it are guarded
KEEP = "keep"
"""Folder of intermediate files, as the recipe's --keep-dir names it."""
DIAGNOSTIC_LINES = 20
OUT_OF_RESOURCES = ("Killed", "No space left on device", "Cannot allocate memory", "out of memory")
"""Words of a compiler that lost its machine, not its argument."""


@dataclass(frozen=True)
class Compiled:
    """Outcome of one call, as its record has it; ``artifact`` lies inside ``compiled`` alone."""

    artifact: Path | None
    cubins: tuple[FileDigest, ...]
    resources: tuple[KernelResources, ...]
    asserts: bool | None
    code_sha256: str | None
    diagnostics: str
    cost: CompileCost | None
    instructions: dict[str, int] | None = None


@contextmanager
def compiled(job: Compilation, tree: Tree, toolchain: Toolchain) -> Iterator[Compiled]:
    """Compile in the key's own directory, which is removed afterwards.

    A refusal of the compiler is an outcome; a machine that ran out of memory or space raises
    MissingEnvironment.
    """
    directory = SCRATCH / f"assay-build-{job.key[:12]}"
    try:
        waiting = f"another process compiles {job.id} for {job.arch}; waiting for it"
        with exclusive(directory.with_suffix(".lock"), waiting):
            _stage(job, tree, directory)
            try:
                yield _run(job, directory, toolchain)
            finally:
                shutil.rmtree(directory, ignore_errors=True)
    except PermissionError as error:
        raise MissingEnvironment(
            f"{directory} belongs to somebody else, and binaries are only the same when they are "
            "compiled there: have it removed"
        ) from error


def _stage(job: Compilation, tree: Tree, directory: Path) -> None:
    if directory.exists():  # left behind by a killed process: we hold its lock
        shutil.rmtree(directory)
    directory.mkdir(mode=0o700)
    (directory / KEEP).mkdir()
    for source in job.sources:
        target = directory / source.path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(tree.file(source.path), target)
        os.utime(target, (DATE, DATE))


_SCRIPT = f"""\
set -e
if [ ! -e {TOOL} ]; then
    mkdir -p {TOOL}/{CUTLASS.rsplit("/", 1)[0]}
    ln -s "$1/nvidia" {TOOL}/nvidia
    $0 "$1/{CUTLASS}" {TOOL}/{CUTLASS}
fi
shift
exec "$@"
"""
_LINK, _COPY = "ln -s", "cp -a"
"""Shell lines that make the packages available under a fixed path, where the compiler runs.

nvcc resolves links in the path of the file it compiles, and mangles names by the outcome: a
program's sources, which are CUTLASS's own, are copied (with their dates); all else is linked.
"""


def run_nvcc(
    command: tuple[str, ...],
    directory: Path,
    toolchain: Toolchain,
    label: str,
    *,
    is_program: bool = False,
    most: int = 2**30,
) -> tuple[CommandOutcome, str]:
    """Return how a compiler's call in ``directory`` ended, and what it printed, at most ``most``
    characters, without this machine's path of the toolchain.

    Raises MissingEnvironment for a machine that ran out of memory or space.
    """
    lines: list[str] = []
    room = most

    def take(line: str) -> None:
        nonlocal room
        if room > 0:
            lines.append(line[:room])
            room -= len(line) + 1

    way = _COPY if is_program else _LINK
    nvcc = f"./{TOOL}/{CUDA}/bin/nvcc"
    task = Task(
        command=("/bin/sh", "-c", _SCRIPT, way, str(toolchain.site), nvcc, *command[1:]),
        directory=directory,
        label=label,
        environment={
            "LC_ALL": "C",
            "HOME": str(directory),
            "TMPDIR": str(directory),
            "SOURCE_DATE_EPOCH": str(DATE),
        },
        binds=(Bind(directory, writable=True),),
    )
    outcome = toolchain.place.run(task, take)
    text = "\n".join(lines).replace(str(toolchain.site), TOOL)
    code = outcome.exit_code
    # nvcc is many programs, and ends with the code of whichever failed: its log alone tells.
    starved = outcome.out_of_memory or any(words in text for words in OUT_OF_RESOURCES)
    if code < 0 or (code != 0 and starved):
        raise MissingEnvironment(
            f"{label}: was cut short ({shown_line(last_lines(text, 1))}): give this machine more "
            "memory or space, or run fewer jobs at once"
        )
    return outcome, text


def _run(job: Compilation, directory: Path, toolchain: Toolchain) -> Compiled:
    is_program = job.kind == "program"
    label = f"compile {job.id} for {job.arch}"
    started = monotonic()
    with ticking(f", compiling {job.id} for {job.arch}"):
        outcome, text = run_nvcc(job.command, directory, toolchain, label, is_program=is_program)
    cost = CompileCost(
        seconds=round(monotonic() - started, 3),
        cpu_seconds=None if outcome.cpu_seconds is None else round(outcome.cpu_seconds, 3),
        peak_bytes=outcome.peak_bytes,
    )
    if outcome.exit_code != 0:
        return Compiled(None, (), (), None, None, last_lines(text, DIAGNOSTIC_LINES), cost)
    artifact = directory / job.output
    is_ptx = job.arch.startswith(PTX)
    found = (directory / KEEP).glob("*.ptx" if is_ptx else "*.cubin")
    kept = [path for path in found if "_dlink" not in path.name]
    cubins = [artifact] if job.kind == "probe" else sorted(kept)
    device_code = [cubin.read_bytes() for cubin in cubins]
    return Compiled(
        artifact,
        tuple(map(file_digest, cubins)),
        parse_ptxas(text),
        # Built without -DNDEBUG, and some ``assert`` was not optimised away.
        any(ASSERTION_HANDLER in code for code in device_code),
        None if is_ptx else code_digest(device_code),
        "",
        cost,
        None if is_ptx else count_instructions(device_code),
    )


ASSERTION_HANDLER = b"\0__assertfail\0"
"""What a failed ``assert`` of device code calls, as a cubin's string table names it."""


def file_digest(path: Path) -> FileDigest:
    """Return the digest of a file, by its name without its directory."""
    return FileDigest(path=path.name, sha256=sha256_file(path), bytes=path.stat().st_size)


def last_lines(text: str, count: int) -> str:
    """Return the last lines of a log that say more than where ptxas was."""
    lines = [line for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith("ptxas info")]
    return "\n".join((telling or lines)[-count:])


_ENTRY = re.compile(r"Compiling entry function '([^']+)' for")
_PROPERTIES = re.compile(r"Function properties for (\S+)")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


def parse_ptxas(text: str) -> tuple[KernelResources, ...]:
    """Return the resources of every kernel entry in what ``-Xptxas -v`` printed, sorted by name.

    Device functions that were not inlined have properties of their own; they are no entries.
    """
    found: dict[str, KernelResources] = {}
    entry: str | None = None
    described: str | None = None
    frame = (0, 0, 0)
    for line in text.splitlines():
        if match := _ENTRY.search(line):
            entry, frame = match.group(1), (0, 0, 0)
        elif match := _PROPERTIES.search(line):
            described = match.group(1)
        elif (match := _FRAME.search(line)) and described == entry:
            frame = (int(match.group(1)), int(match.group(2)), int(match.group(3)))
        elif (match := _USED.search(line)) and entry is not None:
            shared = _SHARED.search(line)
            found[entry] = KernelResources(
                entry=entry,
                registers=int(match.group(1)),
                spill_store_bytes=frame[1],
                spill_load_bytes=frame[2],
                stack_bytes=frame[0],
                static_shared_bytes=int(shared.group(1)) if shared else 0,
            )
            entry = None
    return tuple(found[name] for name in sorted(found))
