"""An author's own program from a checkout: built and run by the lines that were given.

It runs a stranger's code. What keeps it in bounds is that the user asked for it by name, that it
works in a copy, in an environment without the user's settings, for a time that is limited, that of
its output a limited part is kept, and that it changes no record and nothing of Assay's (see
``shared.confinement``). It is no sandbox.
"""

import contextlib
import ctypes
import os
import re
import shlex
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from assay.device.worker.forks import ChildOutcome, Note, each_child, width
from assay.device.worker.locks import OpenGpu
from assay.device.worker.messages import progress, utc_now
from assay.shared.confinement import Confinement, confinement
from assay.shared.errors import BadJob, DeviceError
from assay.shared.files import sha256_file
from assay.shared.job import OriginalRunsJob
from assay.shared.kept_output import kept_output
from assay.shared.processes import run_to_end
from assay.shared.specs import Json

POLL_S = 0.01
VERSION_TIMEOUT_S = 60.0
ORPHANS_S = 10.0
"""For killing what a line left running; what starts others faster than that outlives it."""
_CHILD_SUBREAPER = 36
"""prctl(2): PR_SET_CHILD_SUBREAPER."""
KEPT_VARIABLES = (
    "PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "CUDA_HOME", "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES", "LANG", "LC_ALL", "TZ",
)  # fmt: skip
"""Where compilers and libraries lie; tokens, proxies and the user's own settings stay out."""
_COMPILER = re.compile(
    r"(?:\S*/)?(?:[A-Za-z0-9_.]+-)*(?:nvcc|nvc\+\+|hipcc|clang\+\+|clang|icpx|g\+\+|gcc|c\+\+|cc)"
    r"(?:-[0-9.]+)?"
)
"""A compiler's name, with its path, platform and version where they are part of it."""


def run_originals(jobs: Sequence[OriginalRunsJob], gpu: OpenGpu) -> Iterator[Callable[[], Json]]:
    """Yield for each job what gives its OriginalRunRecord, to be called before the next.

    All are built before, side by side; a build that fails is a record without runs.
    """
    with tempfile.TemporaryDirectory() as folder:
        homes = [Path(tempfile.mkdtemp(dir=folder)) for _ in jobs]
        works = [partial(_built, job, home) for job, home in zip(jobs, homes, strict=True)]
        limit_s = max(job.build_timeout_s for job in jobs) + VERSION_TIMEOUT_S
        outcomes = list(each_child(works, limit_s + 3 * ORPHANS_S, width()))
        for job, home, outcome in zip(jobs, homes, outcomes, strict=True):
            yield partial(_run_original, job, home, outcome, gpu)


def _built(job: OriginalRunsJob, home: Path, _note: Note) -> Json:
    """Return the lines that name the compiler and build the program, as they went."""
    compiler = build = None
    run = _line_runner(job, home)
    if job.build is not None:
        if (name := compiler_of(job.build)) is not None:
            compiler = run(f"{shlex.quote(name)} --version", VERSION_TIMEOUT_S)
        build = run(job.build, job.build_timeout_s)
        progress(0, job.runs, f"{job.original}: built, exit code {build['exit_code']}")
    return {"compiler": compiler, "build": build}


def _line_runner(job: OriginalRunsJob, home: Path) -> Callable[[str, float], Json]:
    """Return ``run_line`` of a line and its time where lines are typed, kept in what the program
    may write to: its copy and its home. Raises BadJob where the copy has no such folder.
    """
    top = Path(job.directory).resolve()
    working, within = _inside(top, job.working, "directory"), confinement([top, home])
    return lambda line, timeout_s: run_line(line, working, _environment(home), timeout_s, within)


def _run_original(job: OriginalRunsJob, home: Path, outcome: ChildOutcome, gpu: OpenGpu) -> Json:
    """Run what was built. Raises BadJob where the file that the source names is not in the copy."""
    run, top = _line_runner(job, home), Path(job.directory).resolve()
    file = None if job.file is None else _inside(top, job.file, "file")
    digest = None if file is None else sha256_file(file)
    if outcome.value is None:
        raise DeviceError(f"{job.original}: its build {outcome.error}")
    build = outcome.value["build"]
    built = build is None or build["exit_code"] == 0
    series: list[list[Json]] = []
    for line in (job.run, job.typed):
        series.append([])
        while built and line is not None and len(series[-1]) < job.runs:
            ran = run(line, job.run_timeout_s)
            series[-1].append(ran)
            text = f"{job.original}: exit code {ran['exit_code']}, {ran['seconds']:.1f} s"
            progress(len(series[-1]), job.runs, text)
    return {
        "schema": "assay/original_run/1",
        "source": job.source,
        "original": job.original,
        "target": job.target.id,
        "gpu_uuid": gpu.choice.uuid,
        "recorded_at": utc_now(),
        "file": job.file,
        "file_sha256": digest,
        "checkout": job.checkout,
        "compiler": outcome.value["compiler"],
        "build_line": None if job.build is None else {"line": job.build, "by": job.build_by},
        "build": build,
        "run_line": {"line": job.run, "by": job.run_by},
        "runs": series[0],
        "typed_line": None if job.typed is None else {"line": job.typed, "by": "source"},
        "typed_runs": series[1],
    }


def _inside(top: Path, name: str, what: str) -> Path:
    path = top / name
    if not path.resolve().is_relative_to(top) or not path.exists():
        raise BadJob(f"the checkout has no {what} {name}")
    return path


def _environment(home: Path) -> dict[str, str]:
    """Return the variables that the lines see; ~ is a folder of the program's own."""
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    return {**kept, "HOME": str(home), "TMPDIR": str(home)}


def compiler_of(build: str) -> str | None:
    """Return the first compiler that a build line names, also as a variable's value; else None.

    A line may begin with ``cd``, a wrapper or an assignment, and one that starts ``make`` names
    none.
    """
    try:
        lexer = shlex.shlex(build, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        words = build.split()
    named = (re.sub(r"^[A-Za-z_][A-Za-z0-9_]*=", "", word) for word in words)
    return next((word for word in named if _COMPILER.fullmatch(word)), None)


def run_line(
    line: str,
    working: Path,
    variables: Mapping[str, str],
    timeout_s: float,
    within: Confinement | None = None,
) -> Json:
    """Give a line to a shell and wait; the LineRun record.

    What outlives ``timeout_s`` is killed with its children, and so is what it left running, also in
    sessions of its own.
    """
    _adopt_orphans(True)
    before = _children()
    with (
        tempfile.TemporaryDirectory() as folder,
        kept_output(Path(folder) / "stdout") as output,
        kept_output(Path(folder) / "stderr") as errors,
    ):
        try:
            with (
                (Path(folder) / "stdout").open("wb") as out,
                (Path(folder) / "stderr").open("wb") as err,
            ):
                shell = ["/bin/sh", "-c", line]
                where: Json = {"cwd": working, "env": dict(variables), "stdout": out, "stderr": err}
                if within is not None:
                    where["before"] = within.enter
                ended = run_to_end(shell, timeout_s, **where)
        finally:
            _end_orphans(before)
            _adopt_orphans(False)
    remark = ended.pop("remark")
    return {
        **ended,
        "stdout": output.text(),
        "stderr": errors.text() + remark,
        "cut": output.cut or errors.cut,
    }


def _adopt_orphans(on: bool) -> None:
    """Become the parent of every descendant whose own parent ends, where the kernel does that."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_CHILD_SUBREAPER, int(on), 0, 0, 0)


def _children() -> set[int]:
    """Return the processes whose parent this one is."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # gone meanwhile
            # After the name, which may hold anything: its state, then its parent.
            parent = entry.read_text(errors="replace").rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                found.add(int(entry.parent.name))
    return found


def _end_orphans(before: set[int]) -> None:
    """Kill what a line, and not ``before``, left in sessions of its own, by generations."""
    limit = time.monotonic() + ORPHANS_S
    while (left := _children() - before) and time.monotonic() < limit:
        for orphan in left:
            with contextlib.suppress(OSError):
                os.kill(orphan, signal.SIGKILL)
        for orphan in left:
            with contextlib.suppress(OSError):
                os.waitpid(orphan, os.WNOHANG)
        time.sleep(POLL_S)
