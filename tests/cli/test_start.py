"""The modules that a command loads before it does anything."""

import subprocess
import sys

HEAVY = {"matplotlib", "pandas"}
"""Libraries that only drawing and tabulating need: they take as long to load as all the rest."""


def test_commands_that_render_nothing_load_nothing_that_draws() -> None:
    code = f"import sys, assay.cli.main; print(*sorted({HEAVY!r} & sys.modules.keys()))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == []
