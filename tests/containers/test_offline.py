"""A real bundle on a node without a route: packed here, unpacked and run in a network namespace."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests import tar_filters

ROOT = Path(__file__).resolve().parents[2]
SOURCE = "003"
"""The source with the fewest binaries: one program of CUTLASS."""


def run(command: list[str], folder: Path, **environment: str) -> str:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout + done.stderr


@pytest.mark.compiler
@pytest.mark.root
def test_a_bundle_runs_where_there_is_no_network(tmp_path: Path, toolchain: object):
    checkout = tmp_path / "checkout"
    subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{ROOT}", checkout], check=True)
    (checkout / ".toolchain").symlink_to(ROOT / ".toolchain")
    archive = tmp_path / "bundle.tar"
    given = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")}
    pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    run(
        [str(checkout / "assay"), "bundle", "--target", "h100", "--source", SOURCE,
         "--runtime", "host", "--out", str(archive)],
        checkout, ASSAY_NO_VENV="1", ASSAY_PYTHON=sys.executable, **given, **pip,
    )  # fmt: skip
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "node", **tar_filters.DATA)
    node = tmp_path / "node" / "assay-h100"
    base = Path(sys.base_prefix) / "bin"
    said = run(
        ["unshare", "--net", "/bin/sh", str(node / "run.sh"), "--source", SOURCE,
         "--runtime", "host", "--run", "offline"],
        node, PATH=f"{base}:/usr/bin:/bin:/usr/sbin:/sbin", HOME=str(tmp_path / "node_home"),
    )  # fmt: skip
    assert "running with" in said
    assert (node / "source" / "reports" / "offline" / "attestation.json").is_file()
    assert "compiler_place" not in said, "what was built beforehand was built again"
