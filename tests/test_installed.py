"""``pip install .`` into a fresh environment: the command does what that of a checkout does."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

from assay import __version__
from assay.base.io import read_record
from assay.records.verdicts import Status, VerdictsFile

pytest.importorskip("setuptools")
pytest.importorskip("pip")

ROOT = Path(__file__).resolve().parents[1]
LISTED = re.compile(r'"([A-Za-z./]+)"')
SETUP = (ROOT / "setup.py").read_text(encoding="utf-8")


def packed() -> list[str]:
    """Names of setup.py's lists: what is installed beside the package."""
    lists = re.findall(r"^(?:FOLDERS|FILES) = \((.*?)\)", SETUP, flags=re.M | re.S)
    return [name for each in lists for name in LISTED.findall(each)]


def run(words, folder, environment=None):
    ended = subprocess.run(
        [str(word) for word in words], cwd=folder, capture_output=True, text=True, check=False,
        timeout=600, env=environment,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that holds nothing but what pip makes of the tree."""
    base = tmp_path_factory.mktemp("installed") / "a place"
    base.mkdir()
    tree, wheels, venv = base / "tree", base / "wheels", base / "venv"
    for name in [*packed(), "setup.py", "pyproject.toml"]:
        place = tree / name
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, place, ignore=ignored, dirs_exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, place)
    git = ["git", "-C", tree, "-c", "user.name=a", "-c", "user.email=a@example.org"]
    run(["git", "init", "--quiet", tree], base)
    run([*git, "add", "."], base)
    run([*git, "commit", "--quiet", "-m", "all of it"], base)
    pip = [sys.executable, "-m", "pip"]
    quiet = ["--no-index", "--no-deps", "--quiet", "--disable-pip-version-check"]
    run([*pip, "wheel", *quiet, "--no-build-isolation", "-w", wheels, tree], base)
    run([sys.executable, "-m", "venv", "--without-pip", venv], base)
    run([*pip, "--python", venv / "bin" / "python", "install", *quiet, *wheels.iterdir()], base)
    commit = run([*git, "rev-parse", "HEAD"], base)
    shutil.rmtree(tree)
    assert (venv / "share" / "assay" / "COMMIT").read_text() == commit
    return venv


def test_it_brings_what_a_checkout_holds(installed: Path) -> None:
    root = installed / "share" / "assay"
    for name in ("Snakefile", "requirements/host.txt", "config/judging.yaml",
                 "src/assay/cli/example/assay.yaml", "workflow/rules/common.smk"):  # fmt: skip
        assert (root / name).read_bytes() == (ROOT / name).read_bytes()


def test_it_says_version_and_commit_at_once(installed: Path, tmp_path: Path) -> None:
    bare = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    commit = (installed / "share" / "assay" / "COMMIT").read_text().strip()
    said = run([installed / "bin" / "assay", "--version"], tmp_path, bare)
    assert said == f"{__version__} (commit {commit})\n"
    assert [*tmp_path.iterdir()] == []


def test_from_new_to_a_signed_report(installed: Path, tmp_path: Path) -> None:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ASSAY_", "COV_", "PYTEST"))}
    # The locks' packages are those of this suite's own environment: what installs them has tests.
    (tmp_path / "an environment").symlink_to(sys.prefix)
    python = tmp_path / "an environment" / "bin" / Path(sys.executable).name
    environment = {**kept, "HOME": str(tmp_path), "ASSAY_NO_VENV": "1", "NO_COLOR": "1",
                   "ASSAY_PYTHON": str(python)}  # fmt: skip
    environment.pop("PYTHONPATH", None)
    environment["PATH"] = os.pathsep.join([str(installed / "bin"), os.environ["PATH"]])
    mine, assay = tmp_path / "my project", installed / "bin" / "assay"

    def typed(*words: str) -> str:
        return run([assay, *words], tmp_path, environment)

    assert "next: assay check --project " in typed("new", str(mine))
    schema = (mine / "assay.yaml").read_text().splitlines()[0].partition("$schema=file://")[2]
    assert Path(unquote(schema)).is_relative_to(installed)
    assert "nothing wrong is seen here" in typed("check", "--project", str(mine))
    said = typed("reproduce", "--project", str(mine), "--runtime", "host", "--cores", "1")
    assert "its claims are its signer's own, not Assay's" in said
    verdicts = read_record(VerdictsFile, mine / "reports" / "local" / "verdicts.json").verdicts
    found = {verdict.claim: verdict.status for verdict in verdicts}
    assert found["gain_in_per_cent"] is Status.CONSISTENT
    assert isinstance(next(v.measured for v in verdicts if v.claim == "zeros_are_faster"), float)
    key = tmp_path / ".config" / "assay" / "signing_key.pem.pub"
    report = str(mine / "reports" / "local")
    assert "PASSED: " in typed("verify", report, "--key", str(key), "--accept-policy")
