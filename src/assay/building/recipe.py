"""Compilations as data: the command line, our sources, and the key that both make.

Nothing here starts a compiler: a machine without one computes the same keys, and so can take over
what another machine built.
"""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from assay.base.errors import BadInput
from assay.catalog.model import Catalog
from assay.catalog.project_folder import EVIDENCE_FOLDER
from assay.records.base import PATH_PATTERN
from assay.records.builds import BuildRecord, FileDigest, is_safe_word
from assay.records.kernels import Variant
from assay.records.platform import PTX
from assay.shared.files import sha256_bytes

T = TypeVar("T")
Kind = Literal["variant", "program", "probe"]

RECIPE = 2
"""Part of every key: raise it when ``nvcc`` lays out or starts a compilation differently."""
TOOL = "tool"
"""Name of the toolchain inside the build directory."""
CHECKOUT = "checkout"
"""Name of the copy of a user's checkout beside it, where a file of that is compiled."""
KERNELS = "kernels"
PROJECT = EVIDENCE_FOLDER
"""Folder of a project's files in the build directory, as in evidence."""
COMMON = (
    "nvcc", "-ccbin", "g++", "-O3", "-std=c++17", "-Xptxas", "-v", "--keep", "--keep-dir=keep",
)  # fmt: skip
SHARED = ("-shared", "-Xcompiler", "-fPIC", "-Xlinker", "--exclude-libs=ALL")
"""A library that hides its static CUDA runtime: it must not bind to the one PyTorch loaded."""
CUTLASS = "cutlass_library/source"
VARIANT_INCLUDES = (
    f"{CUTLASS}/include",
    f"{CUTLASS}/tools/util/include",
    "nvidia/cu13/include/cccl",
)
PROGRAM_INCLUDES = ("nvidia/cu13/include/cccl",)
SUFFIX: dict[Kind, str] = {"variant": ".so", "program": ".exe", "probe": ".cubin"}

_ARCH = re.compile(r"(sm|compute)_[0-9]{2,3}[a-z]?")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"\n]+)"', re.MULTILINE)


@dataclass(frozen=True)
class Compilation:
    """One compiler call. Paths in ``command`` are relative to the build directory."""

    id: str
    kind: Kind
    arch: str
    command: tuple[str, ...]
    sources: tuple[FileDigest, ...]
    lock_sha256: str

    @property
    def key(self) -> str:
        """Digest of sources, command and toolchain lock: equal keys promise equal cubins."""
        content = {
            "command": self.command,
            "lock": self.lock_sha256,
            "recipe": RECIPE,
            "sources": [(source.path, source.sha256) for source in self.sources],
        }
        return sha256_bytes(json.dumps(content, sort_keys=True).encode())

    @property
    def output(self) -> str:
        """Return the file name of what the compiler makes."""
        return self.id + SUFFIX[self.kind]


def describe(
    root: Path,
    catalog: Catalog,
    kind: Kind,
    artifact: str,
    arch: str,
    lock_sha256: str,
    project: Path | None = None,
) -> Compilation:
    """Return the compilation of a variant, program or probe for ``arch``, such as sm_90a.

    ``project``: the folder that holds the files of the project, where a kernel is one's. Raises
    BadInput when there is no such thing or its source is missing.
    """
    command, _ = command_of(catalog, kind, artifact, arch)
    source = command[-1]
    sources = () if kind == "program" else local_sources(Tree(root, project), source)
    return Compilation(artifact, kind, arch, command, sources, lock_sha256)


def command_of(
    catalog: Catalog, kind: Kind, artifact: str, arch: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what compiles a variant, program or probe, its source last, and the flags in it that
    kernel.yaml or assay.yaml names. Raises BadInput when there is no such thing.
    """
    if kind == "variant":
        variant = _named(catalog.variants, artifact, kind)
        if variant.source is None:
            raise BadInput(f"variant '{artifact}' is a library: there is nothing to compile")
        source, words = source_of(catalog, variant), variant.flags
        defines = tuple(f"-D{name}={value}" for name, value in sorted(variant.defines.items()))
        includes = (f"-I{source.partition('/')[0]}", *_tool_includes(VARIANT_INCLUDES))
        flags = (*SHARED, *defines, *_new(words), *includes)
    elif kind == "program":
        program = _named(catalog.programs, artifact, kind)
        source, words = f"{TOOL}/{program.source}", program.words
        flags = (*_new(words), *_tool_includes((*program.includes, *PROGRAM_INCLUDES)))
    else:
        probe = _named(catalog.probes, artifact, kind)
        source = f"{KERNELS}/{catalog.kernel_folder[artifact]}/{probe.source}"
        words = probe.flags
        flags = ("-cubin", *_new(words), *_tool_includes(VARIANT_INCLUDES))
    return (*COMMON, gencode(arch), *flags, "-o", artifact + SUFFIX[kind], source), words


def command_problem(record: BuildRecord, catalog: Catalog) -> str | None:
    """Return why a command that somebody else recorded may not be run, or None when it may.

    nvcc runs what it is told to: another host compiler, a plugin, the program it has just made. So
    it must be what this recipe makes of the kernel.yaml in the same evidence, ``catalog``, and that
    may name no flag that does more than compile.
    """
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


def source_of(catalog: Catalog, variant: Variant) -> str:
    """Return the file that a kernel is compiled from, as the build directory has it."""
    if variant.abi == "project":
        return f"{PROJECT}/{variant.source}"
    return f"{KERNELS}/{catalog.kernel_folder[variant.id]}/{variant.source}"


@dataclass(frozen=True)
class Tree:
    """The files that kernels are compiled from: the repository's, and those of a project."""

    root: Path
    project: Path | None = None

    def file(self, path: str) -> Path:
        """Return where a file lies, by its path in the build directory. Raises BadInput for one of
        a project where there is none.
        """
        top, _, rest = path.partition("/")
        if top != PROJECT:
            return self.root / path
        if self.project is None:
            raise BadInput(f"{path}: belongs to a project, and there is none here")
        return self.project / rest

    def included(self, path: str, name: str) -> str | None:
        """Return what a file includes in quotes by ``name``: beside it, or below the folder that it
        is in; None for what is in neither, which is a package's.
        """
        top = path.partition("/")[0]
        for folder in (Path(path).parent, Path(top)):
            candidate = os.path.normpath(folder / name)
            if candidate.startswith(f"{top}/") and self.file(candidate).is_file():
                return candidate
        return None


def file_command(file: str, arch: str) -> tuple[str, ...]:
    """Return what compiles the device code of a stranger's file: whether it compiles is the answer.

    All of it is ours. It finds the headers of CUDA and CUTLASS, and defines nothing.
    """
    flags = (gencode(arch), "-cubin", *_tool_includes(VARIANT_INCLUDES))
    return ("nvcc", "-ccbin", "g++", "-O3", "-std=c++17", *flags, "-o", "file.cubin",
            f"{CHECKOUT}/{file}")  # fmt: skip


def gencode(arch: str) -> str:
    """Return the option for one architecture's machine code and no PTX, or for PTX alone."""
    return f"-gencode=arch={arch.replace('sm_', PTX)},code={arch}"


def local_sources(tree: Tree, source: str) -> tuple[FileDigest, ...]:
    """Return ``source`` and every file of its folder that it includes with quotes, sorted by path.

    A quoted name is looked for beside the including file, then below ``kernels/`` (of a project:
    its folder); a name found in neither belongs to a package, which the lock pins. Raises BadInput
    for a missing ``source``.
    """
    if not tree.file(source).is_file():
        raise BadInput(f"{source}: no such file, though a kernel.yaml or assay.yaml names it")
    found: dict[str, bytes] = {}
    waiting = [source]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found[path] = tree.file(path).read_bytes()
        for name in INCLUDE.findall(found[path].decode(errors="replace")):
            if (included := tree.included(path, name)) is not None:
                waiting.append(included)
    return tuple(
        FileDigest(path=path, sha256=sha256_bytes(data), bytes=len(data))
        for path, data in sorted(found.items())
    )


def _tool_includes(folders: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"-I{TOOL}/{folder}" for folder in folders)


def _new(flags: Sequence[str]) -> tuple[str, ...]:
    """Flags that COMMON does not give already."""
    return tuple(flag for flag in flags if flag not in COMMON)


def _named(known: dict[str, T], name: str, noun: str) -> T:
    if name not in known:
        raise BadInput(f"there is no {noun} '{name}' in kernels/*/kernel.yaml")
    return known[name]
