"""NVIDIA's compute-sanitizer itself: where it is, how it is started, what its log says."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.shared.processes import run_to_end

ERROR_EXIT = 99
MESSAGES = 5
"""First messages of a tool that are kept; the counts are of all."""
PORT, PORTS_EACH = 49152, 16
"""Tool and kernel meet on a port: starts at the same time each look for theirs in a range apart."""
OPTIONS = {
    "--launch-timeout": "60",
    "--print-limit": "100",
    # Bytes between allocations: a step over the edge of one must not land in another.
    "--padding": "4096",
    # What a launcher's calls return, the launcher reports; here it is the kernel that is watched.
    "--report-api-errors": "no",
}
"""Given where the installed version's own help names them."""
MEMCHECK_ONLY = ("--padding", "--report-api-errors")
SUMMARY = re.compile(
    r"(?:ERROR|RACECHECK) SUMMARY: (\d+) (?:errors?|hazards? displayed"
    r" \((\d+) errors?, (\d+) warnings?\))\s*$"
)
MESSAGE = re.compile(r"^={9} (?=\S)(?!COMPUTE-SANITIZER|(?:ERROR|RACECHECK) SUMMARY)(.*\S)\s*$")


@dataclass(frozen=True)
class Tools:
    """The command and what its version knows."""

    command: str
    version: str
    help: str


@dataclass(frozen=True)
class Found:
    """The findings in a tool's log; None where it does not come to a summary."""

    errors: int | None
    warnings: int
    messages: tuple[str, ...]


def find_command() -> str | None:
    """compute-sanitizer on PATH, in a CUDA toolkit or in a wheel of this Python."""
    places = [shutil.which("compute-sanitizer")]
    places += map(str, sorted(Path("/usr/local").glob("cuda*/bin/compute-sanitizer"), reverse=True))
    site = Path(sysconfig.get_paths()["purelib"])
    places += map(str, sorted(site.glob("nvidia/*/bin/compute-sanitizer"), reverse=True))
    return next((place for place in places if place and os.access(place, os.X_OK)), None)


def open_tools(command: str) -> Tools | None:
    """Return the command with its version and help; None where it does not even say these."""

    def ask(option: str) -> str:
        done = subprocess.run(
            [command, option], capture_output=True, text=True, timeout=60, check=True
        )
        return done.stdout + done.stderr

    try:
        found = re.search(r"Version (\S+)", ask("--version"))
        return Tools(command, found.group(1) if found else "unknown", ask("--help"))
    except (OSError, subprocess.SubprocessError):
        return None


def parse_log(text: str) -> Found:
    """Errors, warnings and first messages of one log."""
    errors, warnings, messages = None, 0, list[str]()
    for line in text.splitlines():
        if found := SUMMARY.search(line):
            total, of_them, warned = found.groups()
            errors = int(total if of_them is None else of_them)
            warnings = int(warned or 0)
        elif found := MESSAGE.match(line):
            messages.append(found.group(1))
    return Found(errors, warnings, tuple(dict.fromkeys(messages))[:MESSAGES])


def command_line(tools: Tools, tool: str, log: Path, slot: int, spec: Path) -> list[str]:
    """Return one start of the tool round a kernel; ``slot`` sets simultaneous starts apart."""
    chosen = {**OPTIONS, "--port": str(PORT + slot * PORTS_EACH)}
    known = [
        part
        for option, value in chosen.items()
        if f"{option} " in tools.help and (tool == "memcheck" or option not in MEMCHECK_ONLY)
        for part in (option, value)
    ]
    return [
        tools.command, "--tool", tool, "--error-exitcode", str(ERROR_EXIT),
        "--log-file", str(log), *known,
        sys.executable, "-m", "assay.device.tasks.sanitized", str(spec),
    ]  # fmt: skip


def run_tool(command: Sequence[str], deadline_s: float) -> str:
    """Run to the end, or to the deadline; the last words of its output."""
    with tempfile.TemporaryFile() as output:
        ended = run_to_end(command, deadline_s, stdout=output, stderr=subprocess.STDOUT)
        output.seek(0)
        words = output.read().decode(errors="replace")
    return str(ended["remark"]).strip("[]\n") or " ".join(words.split())[-300:]
