"""The policy on compilers' command lines that somebody else recorded: which may be run here.

Evidence comes from elsewhere, and nvcc runs what it is told to: another host compiler, a plugin of
it, the program it has just made. So a recorded command is run only when every word of it has a
form that is listed here, which is what ``assay.building.recipe`` has ever written.
"""

import re
from collections.abc import Iterator, Sequence

from assay.building.recipe import COMMON, KERNELS, PROJECT, SUFFIX, TOOL, gencode, source_of
from assay.catalog.model import Catalog
from assay.records.builds import BuildRecord
from assay.records.compiler_words import is_safe_word
from assay.shared.counting import counted

PAIRS = {
    "-ccbin": "g++",
    "-Xptxas": "-v",
    "-Xcompiler": "-fPIC",
    "-Xlinker": "--exclude-libs=ALL",
}
"""Options with the one value each may have."""
_PATH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*(/[A-Za-z0-9_][A-Za-z0-9_.+-]*)*")
_ARCH = re.compile(r"sm_[0-9]{2,3}[a-z]?")


def is_plain_path(path: str) -> bool:
    """Return whether ``path`` is relative, in its shortest form, without any name that starts with
    a dot.

    So it neither leaves the directory it is relative to nor reads as an option.
    """
    return _PATH.fullmatch(path) is not None


def command_problem(record: BuildRecord) -> str | None:
    """Return why the recorded command may not be run, or None when it may."""
    return next(_problems(record), None)


def _problems(record: BuildRecord) -> Iterator[str]:
    if _ARCH.fullmatch(record.arch) is None:
        yield f"{record.arch!r} is no architecture"
    for source in record.sources:
        below = source.path.startswith((f"{KERNELS}/", f"{PROJECT}/"))
        if not (is_plain_path(source.path) and below):
            yield f"its source {source.path!r} is not a plain path below {KERNELS}/ or {PROJECT}/"
    if record.command[:1] != COMMON[:1]:
        yield f"it does not start with {COMMON[0]}"
    try:
        operands = list(_operands(record))
    except ValueError as error:
        yield str(error)
        return
    if len(operands) != 1:
        yield f"it compiles {counted(len(operands), 'file')}, not one"
    for operand in operands:
        if record.kind == "program":
            if not (is_plain_path(operand) and operand.startswith(f"{TOOL}/")):
                yield f"{operand!r} is not a file of the toolchain"
        elif operand not in {source.path for source in record.sources}:
            yield f"{operand!r} is not among its recorded sources"
    output = record.id + SUFFIX[record.kind]
    if record.command.count("-o") != 1 or _after("-o", record.command) != output:
        yield f"it does not write {output}"
    if gencode(record.arch) not in record.command:
        yield f"it does not compile for {record.arch}"


def _operands(record: BuildRecord) -> Iterator[str]:
    """The words that are no option; ValueError for an option that is not known to be safe."""
    words = iter(record.command[1:])
    for word in words:
        if word in PAIRS:
            value = next(words, "")
            if value != PAIRS[word]:
                raise ValueError(f"{word} {value!r} is not among the options that are run here")
        elif word == "-o":
            next(words, None)
        elif not word.startswith("-"):
            if word.endswith(".cu"):
                yield word
            else:
                raise ValueError(f"{word!r} is no CUDA source")
        elif not _is_safe(word, record.arch):
            raise ValueError(f"{word!r} is not among the options that are run here")


def _is_safe(word: str, arch: str) -> bool:
    include = word.removeprefix("-I")
    return (
        is_safe_word(word)
        or word == gencode(arch)
        or (
            include != word
            and is_plain_path(include)
            and (
                include in (KERNELS, PROJECT)
                or include.startswith((f"{TOOL}/", f"{KERNELS}/", f"{PROJECT}/"))
            )
        )
    )


def _after(option: str, command: Sequence[str]) -> str | None:
    """The word that follows an option."""
    place = command.index(option) + 1
    return command[place] if place < len(command) else None


def manifest_problem(record: BuildRecord, catalog: Catalog) -> str | None:
    """Return how the command contradicts the kernel.yaml in the same evidence, or None.

    A verdict names a kernel by what kernel.yaml says of it: its defines, flags and source.
    """
    flags: tuple[str, ...]
    defines: set[str] = set()
    if record.kind == "program" and record.id in catalog.programs:
        program = catalog.programs[record.id]
        flags, source = program.words, f"{TOOL}/{program.source}"
    elif record.kind == "variant" and record.id in catalog.variants:
        variant = catalog.variants[record.id]
        flags, source = variant.flags, source_of(catalog, variant)
        defines = {f"-D{key}={value}" for key, value in variant.defines.items()}
    elif record.kind == "probe" and record.id in catalog.probes:
        probe = catalog.probes[record.id]
        flags, source = probe.flags, _our_source(catalog, record.id, probe.source)
    else:
        return f"no kernel.yaml of the evidence knows the {record.kind} '{record.id}'"
    if source not in record.command:
        return f"kernel.yaml names the source {source}, and the command another"
    defines |= {flag for flag in flags if flag.startswith("-D")}
    given = {word for word in record.command if word.startswith("-D")}
    different = sorted((defines ^ given) | (set(flags) - set(record.command)))
    if different:
        return f"kernel.yaml and the command differ in {', '.join(different)}"
    return None


def _our_source(catalog: Catalog, artifact: str, name: str | None) -> str:
    return f"{KERNELS}/{catalog.kernel_folder[artifact]}/{name}"
