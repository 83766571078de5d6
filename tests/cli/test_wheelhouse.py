"""The entries of a lock that a node's Python needs, and the sentence when one cannot be had."""

from pathlib import Path

import pytest

from assay.base.pip_locks import lock_versions
from assay.cli.commands.bundle import entries_for

ROOT = Path(__file__).resolve().parents[2]
LOCK = """\
alpha==1.0 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
    # via something
beta==2.0 ; python_full_version < '3.12' \\
    --hash=sha256:cc
beta==3.0 ; python_full_version >= '3.12' \\
    --hash=sha256:dd
gamma==4.0 ; sys_platform == 'win32' \\
    --hash=sha256:ee
"""


def pins(text: str, python: str) -> list[str]:
    return [entry.split(" ")[0] for entry in entries_for(text, python)]


class TestEntries:
    """``entries_for``."""

    def test_a_marker_is_answered_for_the_python_that_is_asked_for(self):
        assert pins(LOCK, "3.11") == ["alpha==1.0", "beta==2.0"]
        assert pins(LOCK, "3.13") == ["alpha==1.0", "beta==3.0"]

    @pytest.mark.parametrize("name", ["host", "build"])
    def test_every_pin_of_the_real_locks_is_seen(self, name: str):
        text = (ROOT / "requirements" / f"{name}.txt").read_text()
        everywhere = lock_versions(ROOT / "requirements" / f"{name}.txt").keys()
        seen = {pin.split("==")[0] for python in ("3.11", "3.13") for pin in pins(text, python)}
        windows_only = {"colorama", "pyreadline3", "pywin32"}
        assert seen == everywhere - windows_only
