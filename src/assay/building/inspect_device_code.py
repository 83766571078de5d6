"""Which architectures the binaries of optional packages hold device code for, read by cuobjdump."""

import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.base.errors import AssayError
from assay.base.isolation import python_variables
from assay.building.toolchain import locked_versions, toolchain_directory
from assay.records.builds import ArchCode, DeviceCodeResult, SharedObject
from assay.records.claims import Claim
from assay.records.evaluations import DeviceCode
from assay.records.rivals import Rival
from assay.runtimes.base import Task
from assay.runtimes.host import HostRuntime
from assay.shared.files import sha256_file

ANSWER = "installed:"
QUESTION = f"""
import importlib.metadata as metadata, json, sys
def look(name):
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None
    files = [file for file in found.files or () if file.name.endswith(".so") or ".so." in file.name]
    return [found.version, [[str(file), str(found.locate_file(file))] for file in files]]
print({ANSWER!r} + json.dumps({{name: look(name) for name in sys.argv[1:]}}))
"""
TIMEOUT_S = 300.0
_NOTHING = "does not contain device code"
"""cuobjdump's words for a binary of the host alone, for which it exits with 255."""
_SECTION = re.compile(r"Fatbin (?P<form>elf|ptx) code:\n=+\narch = (?P<arch>sm_[0-9]+[af]?)\n")
_FUNCTION = re.compile(r"^STT_FUNC\s+\S+\s+STO_ENTRY\s+(?P<name>\S+)$", re.MULTILINE)
_ENTRY = re.compile(r"^\s*(?:\.visible\s+)?\.entry\s+(?P<name>[^\s(]+)", re.MULTILINE)


@dataclass(frozen=True)
class Installed:
    """A package that a Python has."""

    version: str
    objects: tuple[tuple[str, Path], ...]
    """Its shared objects: as the package lists them, and where they lie."""


def inspect_device_code(
    root: Path,
    claims: Iterable[Claim],
    rivals: Mapping[str, Rival],
    python: str,
    packages: Sequence[Path] = (),
) -> tuple[DeviceCodeResult, ...]:
    """Look into the packages that claims name, in ``python``; nothing of them is imported or run.

    ``packages``: directories into which that Python looks before its own.

    A package that is not there, a missing cuobjdump and a binary that it cannot read are told in
    the record: no claim on another machine's packages ends a run.
    """
    asked = [
        (claim.id, claim.evaluation) for claim in claims if isinstance(claim.evaluation, DeviceCode)
    ]
    if not asked:
        return ()
    wanted = {name: rivals[name] for name in dict.fromkeys(e.rival for _, e in asked)}
    installed = find_installed(python, list(wanted.values()), packages)
    tool = _find_tool(root) if installed else None
    return tuple(
        _result(name, evaluation, wanted[evaluation.rival], installed.get(evaluation.rival), tool)
        for name, evaluation in asked
    )


def find_installed(
    python: str, rivals: Sequence[Rival], packages: Sequence[Path] = ()
) -> dict[str, Installed]:
    """Return which of ``rivals`` a Python has, by id; a Python that does not start has none.

    ``packages``: directories into which it looks before its own.
    """
    if not rivals:
        return {}
    lines: list[str] = []
    names = [rival.main.name for rival in rivals]
    task = Task(
        command=(python, "-c", QUESTION, *names),
        directory=Path("/"),
        label="ask the device's Python for optional packages",
        environment=python_variables(packages),
        inherit=True,
    )
    try:
        HostRuntime().run(task, None, lines.append)
    except AssayError:
        return {}
    told = next((line for line in lines if line.startswith(ANSWER)), None)
    if told is None:
        return {}
    answer, found = json.loads(told.removeprefix(ANSWER)), {}
    for rival in rivals:
        if (package := answer[rival.main.name]) is not None:
            version, files = package
            objects = tuple((name, Path(path)) for name, path in files)
            found[rival.id] = Installed(version, objects)
    return found


def _find_tool(root: Path) -> tuple[str, str] | None:
    """The pinned cuobjdump where it is unpacked, else the one on PATH: its path, and in words."""
    pinned = toolchain_directory(root) / "nvidia" / "cu13" / "bin" / "cuobjdump"
    if pinned.is_file():
        version = locked_versions(root).get("nvidia-cuda-cuobjdump", "of the toolchain's lock")
        return str(pinned), f"cuobjdump {version}"
    found = shutil.which("cuobjdump")
    if found is None:
        return None
    match = re.search(r"\bV(\d+(?:\.\d+)+)", _run(found, "--version") or "")
    return found, f"cuobjdump {match.group(1) if match else 'of unknown version'}"


def _result(
    claim: str,
    evaluation: DeviceCode,
    rival: Rival,
    found: Installed | None,
    tool: tuple[str, str] | None,
) -> DeviceCodeResult:
    result = DeviceCodeResult(
        claim=claim,
        rival=rival.id,
        package=rival.main.name,
        kernels=evaluation.kernels,
        status="not_installed",
        detail="the device's Python has no such package",
    )
    if found is None:
        return result
    failed = result.model_copy(update={"status": "failed", "version": found.version})
    if tool is None:
        detail = "there is no cuobjdump here, neither the toolchain's nor one on PATH"
        return failed.model_copy(update={"detail": detail})
    if not found.objects:
        return failed.model_copy(update={"detail": "the package lists no shared object"})
    counts: Counter[tuple[str, str, bool]] = Counter()
    objects = []
    for name, path in found.objects:
        for option, form in (("-symbols", "cubin"), ("-ptx", "ptx")):
            text = _run(tool[0], option, str(path)) if path.is_file() else None
            if text is None:
                return failed.model_copy(update={"detail": f"cuobjdump does not read {name}"})
            counts += count_code(text, form, evaluation.kernels)
        size, digest = path.stat().st_size, sha256_file(path)
        objects.append(SharedObject(path=name, bytes=size, sha256=digest))
    code = [
        {"arch": arch, "form": form, "files": files, "kernels": counts[arch, form, True]}
        for (arch, form, is_kernel), files in sorted(counts.items())
        if not is_kernel
    ]
    return failed.model_copy(
        update={
            "status": "inspected",
            "detail": "",
            "tool": tool[1],
            "objects": tuple(objects),
            "code": tuple(map(ArchCode.model_validate, code)),
        }
    )


def _run(*command: str) -> str | None:
    """What a command prints; nothing of a binary without device code, None where it fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False,
            timeout=TIMEOUT_S,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    if _NOTHING in done.stdout + done.stderr:
        return ""
    return done.stdout if done.returncode == 0 else None


def count_code(listing: str, form: str, kernels: str) -> Counter[tuple[str, str, bool]]:
    """Count what cuobjdump shows of one form, by (architecture, form, ...).

    ``False``: embedded files; ``True``: their kernels with ``kernels`` in the name.
    """
    word, pattern = {"cubin": ("elf", _FUNCTION), "ptx": ("ptx", _ENTRY)}[form]
    counts: Counter[tuple[str, str, bool]] = Counter()
    sections = list(_SECTION.finditer(listing))
    ends = [*(section.start() for section in sections[1:]), len(listing)]
    for section, end in zip(sections, ends, strict=False):  # no section, and one end
        if section["form"] == word:  # either listing names the other form, too
            names = (match["name"] for match in pattern.finditer(listing, section.end(), end))
            counts[section["arch"], form, False] += 1
            counts[section["arch"], form, True] += sum(kernels in name for name in names)
    return counts
