"""The time that verifying takes, held by what it does: files read, modules loaded."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import collections, sys
report, key = sys.argv[1:3]
opened = collections.Counter()
def hook(event, arguments):
    if event == "open" and str(arguments[0]).startswith(report):
        opened[str(arguments[0])] += 1
sys.addaudithook(hook)
sys.argv[1:] = ["verify", report, "--key", key]
from assay.cli.main import main
try:
    main()
except SystemExit as ended:
    assert ended.code == 0, ended
for path, count in opened.items():
    print("OPENED", count, path)
print("LOADED", *sorted({name.split(".")[0] for name in sys.modules}))
"""
NOT_FOR_READERS = {
    "docker", "elftools", "matplotlib", "pytest", "requests", "snakemake", "torch",
}  # fmt: skip
"""What builds, measures and packs needs these; each takes a tenth of a second or more to load."""
MOST_OPENED = 5
"""Times that a file is opened: for its digest, for what it says, for whose rules it has, by
whoever asks first how much comes out of it, and by whoever counts who measured again."""


@pytest.fixture(scope="module")
def told(report: Path) -> list[str]:
    """What a start of ``verify`` opened below its report, and which packages it loaded."""
    key = report / "signer.pub"
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(report), str(key)],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "ASSAY_ROOT": str(report.parents[1])},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


def test_no_file_is_read_again_and_again(told: list[str]) -> None:
    opened = Counter({
        path: int(count) for line in told if line.startswith("OPENED")
        for _, count, path in (line.split(" ", 2),)
    })  # fmt: skip
    assert any(path.endswith("/verdicts.json") for path in opened)
    assert {path: count for path, count in opened.items() if count > MOST_OPENED} == {}
    by_name = {Path(path).name: count for path, count in opened.items()}
    assert by_name["verdicts.json"] == 3, "for its digest, what it says, and who says it again"
    assert by_name["report.html"] == 2
    assert by_name["manifest.json"] == 2


def test_only_what_a_reader_needs_is_loaded(told: list[str]) -> None:
    (loaded,) = [line.split()[1:] for line in told if line.startswith("LOADED")]
    assert "numpy" in loaded
    assert NOT_FOR_READERS & set(loaded) == set()
