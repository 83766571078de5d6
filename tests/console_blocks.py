"""The ``console`` blocks of a page of docs/, typed as they stand, but for folders and home."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```console\n(?P<text>.*?)^```$", re.S | re.M)


def commands(page: str) -> list[tuple[str, list[str]]]:
    """Return each command of a page, with the lines that its output must hold."""
    found: list[tuple[str, list[str]]] = []
    for block in BLOCK.finditer((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")):
        for line in block["text"].splitlines():
            if line.startswith("$ "):
                found.append((line.removeprefix("$ "), []))
            else:
                found[-1][1].append(line)
    return found


def follow(page: str, home: Path, places: Mapping[str, str] | None = None, but: str = "") -> str:
    """Type every command of a page ``but`` one, and find what it shows; return all that was said.

    ``places`` puts folders of the test for those that the page names.
    """
    ours = {**(places or {}), "~": str(home)}

    def here(line: str) -> str:
        for named, place in ours.items():
            line = line.replace(named, place)
        return line

    said = ""
    for typed, wanted in commands(page):
        if typed == but:
            continue
        answered = _run(shlex.split(here(typed)), home)
        for line in wanted:
            assert here(line) in answered, f"{typed}\n{answered}"
        said += answered
    return said


def _run(words: list[str], home: Path) -> str:
    command = [sys.executable, "-m", "assay.cli", *words[1:]] if words[0] == "./assay" else words
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ASSAY_", "COV_", "PYTEST"))}
    if words[:2] == ["./assay", "reproduce"]:
        # What this machine has to compile in decides nothing here.
        command += ["--runtime", "host", "--cores", "1"]
    if words[:2] == ["./assay", "verify"]:
        command += ["--accept-policy"]  # of a tree under work
    ended = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=900,
        env={**kept, "HOME": str(home), "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"},
    )  # fmt: skip
    finds = words[1:] == ["check", "--project", "projects/flashattention3"]
    assert ended.returncode == finds, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr
