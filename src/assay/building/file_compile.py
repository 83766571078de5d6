"""A source's file, compiled as published, in a copy of the checkout that the user has.

The compiler reads a stranger's file and nothing of it is run. Of what it prints the errors are
kept, bounded: neither warnings nor the lines of the file that it quotes below each.
"""

import re
from datetime import UTC, datetime
from pathlib import Path

from assay.base.errors import CheckFailed
from assay.base.printable import shown_line
from assay.base.signals import deadline
from assay.building.checkout_copy import copy_checkout
from assay.building.nvcc import run_nvcc
from assay.building.recipe import CHECKOUT, file_command
from assay.building.toolchain import Toolchain
from assay.records.originals import LONGEST_LINE, MOST_LINES, FileCompileJob, FileCompileRecord
from assay.shared.files import sha256_file

COMPILE_S = 900.0
"""Seconds after which a compilation is given up: a stranger's templates may never end."""
MOST_OUTPUT = 2**22
_ERRORS = re.compile(
    r"\S.{0,400}?\(\d+\): (?:catastrophic |internal )?error\b"  # nvcc's front end
    r"|\S.{0,400}?:\d+(?::\d+)?: (?:fatal |internal compiler )?error:"  # the host's compiler
    r"|(?:ptxas|nvcc|cicc|nvlink|fatbinary|cudafe\+\+|g\+\+|gcc|cc1plus|as|ld)\b"
    r".{0,400}?\b(?:error|fatal)\b"
)
"""Lines that state an error. What is quoted of a file is indented, and so is no such line."""


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
    with deadline(COMPILE_S):
        label = f"compile {job.compilation} for {job.arch}"
        outcome, text = run_nvcc(command, folder, toolchain, label, most=MOST_OUTPUT)
    code = outcome.exit_code
    words, cut = first_errors(text.replace(f"{folder}/", ""))
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


def first_errors(text: str) -> tuple[tuple[str, ...], bool]:
    """Return the first lines of a compiler's output that state errors, and whether that is less
    than all that it states.

    What is no printable ASCII stands as an escape.
    """
    lines = text.splitlines()
    stated = [line.rstrip().replace("\t", " ") for line in lines if _ERRORS.match(line)]
    ascii_ = [line.encode("ascii", "backslashreplace").decode("ascii") for line in stated]
    spelled = [shown_line(line) for line in ascii_]
    kept = tuple(line[:LONGEST_LINE] for line in spelled[:MOST_LINES])
    whole = len(text) < MOST_OUTPUT and len(spelled) <= MOST_LINES
    return kept, not (whole and all(len(line) <= LONGEST_LINE for line in spelled))
