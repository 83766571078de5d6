"""A source's file, compiled as published, in a copy of the checkout that the user has.

The compiler reads a stranger's file and nothing of it is run. Of what it prints the errors are
kept, bounded: neither warnings nor the lines of the file that it quotes below each.
"""

from datetime import UTC, datetime
from pathlib import Path

from assay.base.deadline import deadline
from assay.base.errors import CheckFailed, MissingEnvironment
from assay.base.printable import shown_line
from assay.building.checkout_copy import copy_checkout
from assay.building.compiler_errors import MOST_OUTPUT, first_errors
from assay.building.nvcc import TOOL_LINKED, lacked_resources, last_lines
from assay.building.recipe import CHECKOUT, TOOL, file_command
from assay.building.toolchain import CUDA, DATE, Toolchain
from assay.records.file_compiles import (
    FileCompileJob,
    FileCompileRecord,
)
from assay.runtimes.base import Bind, Task
from assay.shared.files import sha256_file

COMPILE_S = 900.0
"""Seconds after which a compilation is given up: a stranger's templates may never end."""


def compile_file(
    checkout: Path, job: FileCompileJob, file: str, folder: Path, toolchain: Toolchain
) -> FileCompileRecord:
    """Compile ``file`` of a copy of ``checkout`` in ``folder``, which must not be there yet.

    ``folder`` is a whole path without links, for words are kept without it.

    A refusal of the compiler is an outcome. Raises CheckFailed where the checkout is no longer what
    the job says, OutOfTime for what takes too long, MissingEnvironment for a machine that ran out
    of memory or space.
    """
    if copy_checkout(checkout, folder / CHECKOUT) != job.checkout:
        raise CheckFailed(f"{checkout}: was changed since this run was asked for")
    command = file_command(file, job.arch)
    code, text = _run(job, command, folder, toolchain)
    words, cut = first_errors(text)
    return FileCompileRecord(
        schema="assay/file_compile/1",
        source=job.source,
        compilation=job.compilation,
        arch=job.arch,
        recorded_at=f"{datetime.now(UTC).isoformat(timespec='seconds')[:-6]}Z",
        file=file,
        file_sha256=sha256_file(folder / CHECKOUT / file),
        checkout=job.checkout,
        command=command,
        exit_code=code,
        words=words if code else (),
        cut=cut if code else False,
        toolchain=toolchain.record,
    )


def _run(
    job: FileCompileJob, command: tuple[str, ...], folder: Path, toolchain: Toolchain
) -> tuple[int, str]:
    """Return the compiler's exit code, and what it printed, without this machine's paths."""
    lines: list[str] = []
    room = MOST_OUTPUT

    def take(line: str) -> None:
        nonlocal room
        if room > 0:
            lines.append(line[:room])
            room -= len(line) + 1

    script = f'set -e\n{TOOL_LINKED}shift\nexec "$@"\n'
    label = f"compile {job.compilation} for {job.arch}"
    with deadline(COMPILE_S):
        outcome = toolchain.place.run(
            Task(
                command=(
                    "/bin/sh", "-c", script, "sh", str(toolchain.site),
                    f"./{TOOL}/{CUDA}/bin/nvcc", *command[1:],
                ),
                directory=folder,
                label=label,
                environment={
                    "LC_ALL": "C",
                    "HOME": str(folder),
                    "TMPDIR": str(folder),
                    "SOURCE_DATE_EPOCH": str(DATE),
                },
                binds=(Bind(folder, writable=True),),
            ),
            take,
        )  # fmt: skip
    text = "\n".join(lines)
    text = text.replace(str(toolchain.site), TOOL).replace(f"{folder}/", "")
    code = outcome.exit_code
    if code < 0 or (code != 0 and (outcome.out_of_memory or lacked_resources(text))):
        raise MissingEnvironment(
            f"{label}: was cut short ({shown_line(last_lines(text, 1))}): give this machine more "
            "memory or space, or run fewer jobs at once"
        )
    return code, text
