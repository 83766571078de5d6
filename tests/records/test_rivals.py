"""Optional rivals: the line that installs one."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from pydantic import ValidationError

from assay.catalog.load import load_catalog
from assay.records.rivals import Rival

ROOT = Path(__file__).resolve().parents[2]
FA3 = load_catalog(ROOT).rivals["fa3_fwd"]


def test_the_line_gives_pip_the_version_and_every_digest(tmp_path: Path) -> None:
    """Run for real, with a Python that shows what it was given."""
    shown = tmp_path / "a python"
    shown.write_text('#!/bin/sh\necho "$@"\ncat /dev/stdin\n')
    shown.chmod(0o755)
    line = FA3.install_line(str(shown))
    done = subprocess.run(
        ["/bin/sh", "-c", line], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    arguments, pin = done.stdout.splitlines()
    assert arguments == "-m pip install --no-deps --require-hashes -r /dev/stdin"
    digests = [f"--hash=sha256:{wheel.sha256}" for wheel in FA3.main.wheels]
    assert shlex.split(pin) == ["fa3-fwd==0.0.3", *digests]


def test_a_package_without_a_digest_is_refused() -> None:
    document = FA3.model_dump()
    document["packages"][0]["wheels"] = []
    with pytest.raises(ValidationError):
        Rival.model_validate(document)
