"""The policy on compilers' command lines that somebody else recorded: which may be run here.

Evidence comes from elsewhere, and nvcc runs what it is told to: another host compiler, a plugin of
it, the program it has just made. So a recorded command is run only where it is what our recipe
makes of the kernel.yaml in the same evidence, and that names no flag that does more than compile.
"""

import re

from assay.base.errors import BadInput
from assay.building.recipe import KERNELS, PROJECT, command_of
from assay.catalog.model import Catalog
from assay.records.base import PATH_PATTERN
from assay.records.builds import BuildRecord
from assay.records.compiler_words import is_safe_word

_ARCH = re.compile(r"sm_[0-9]{2,3}[a-z]?")


def command_problem(record: BuildRecord, catalog: Catalog) -> str | None:
    """Return why the recorded command may not be run, or None when it may."""
    if _ARCH.fullmatch(record.arch) is None:
        return f"{record.arch!r} is no architecture"
    for source in record.sources:
        # So it neither leaves the directory that it is relative to nor reads as an option.
        plain = re.fullmatch(PATH_PATTERN, source.path) is not None
        if not plain or not source.path.startswith((f"{KERNELS}/", f"{PROJECT}/")):
            return f"its source {source.path!r} is not a plain path below {KERNELS}/ or {PROJECT}/"
    try:
        command, flags = command_of(catalog, record.kind, record.id, record.arch)
    except BadInput as error:
        return str(error)
    if unsafe := [flag for flag in flags if not is_safe_word(flag)]:
        return f"{unsafe[0]!r} is not among the options that are run here"
    if command == record.command:
        return None
    different = ", ".join(sorted(set(command) ^ set(record.command))) or "their order"
    return f"it and what kernel.yaml in the evidence says differ in {different}"
