"""A bundle: what it holds, that its bytes repeat, that its script checks them and finds its way."""

import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from assay.base.pip_locks import lock_versions
from assay.cli import checkout as checkout_module
from assay.cli.commands import bundle as make
from assay.cli.commands.bundle import bundle_files, entries_for, pack
from assay.records.plan import BuildJob
from tests import tar_filters
from tests.git_history import git
from tests.library_checkout import write_config

ROOT = Path(__file__).resolve().parents[2]


def write(path: Path, text: str, mode: int = 0o644) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small git checkout whose ``assay`` says what it was given."""
    root = tmp_path / "checkout"
    write(
        root / "assay",
        "#!/usr/bin/env python3\nimport os, sys\n"
        "print('given', sys.argv[1:])\nprint('wheels', os.environ['ASSAY_WHEELHOUSE'])\n"
        "print('commit', os.environ.get('ASSAY_COMMIT'))\n",
        0o755,
    )
    write(root / "tools" / "bundle_run.sh", (ROOT / "tools" / "bundle_run.sh").read_text(), 0o755)
    write(root / ".gitignore", "/results/\n")
    write(root / "results" / "mine", "not part of the project")
    git(root, "init", "-q")
    git(root, "add", ".")
    write(root / "signing.pem", "the user's own, and in nobody's way")
    return root


@pytest.fixture
def archive(checkout: Path, tmp_path: Path) -> Path:
    run, image = tmp_path / "run", tmp_path / "image"
    write(run / "inspections.json", "{}")
    write(run / "builds" / "sm_90a" / "kernel.so", "machine code", 0o755)
    write(run / "builds" / "sm_90a" / "another.so", "of an earlier bundle with more sources")
    write(run / "images" / "h100.json", "{}")
    write(run / "logs" / "noise.log", "noise")
    write(tmp_path / "wheels" / "alpha-1.0-py3-none-any.whl", "wheel")
    write(image / "image.tar", "layers")
    builds = [BuildJob(kind="variant", id="kernel", arch="sm_90a")]
    files = bundle_files(checkout, "h100", tmp_path / "wheels", run, image, builds)
    python = f"3.{sys.version_info.minor}"
    words = {"TARGET": "h100", "COMMIT": "0123abc", "PYTHONS": python, "IMAGE": "sha256:11",
             "SOURCES": "--source 002"}  # fmt: skip
    environment = "".join(f"BUNDLE_{name}='{value}'\n" for name, value in words.items())
    pack("assay-h100", files, environment, tmp_path / "b.tar")
    return tmp_path / "b.tar"


def unpack(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as tar:
        tar.extractall(folder, **tar_filters.DATA)
    return folder / "assay-h100"


def run_script(top: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", str(top / "run.sh"), *arguments], capture_output=True, text=True, check=False
    )


def test_it_holds_sources_wheels_builds_and_images_and_nothing_of_the_users(archive: Path):
    with tarfile.open(archive) as tar:
        names = {name.removeprefix("assay-h100/") for name in tar.getnames()}
    assert names == {
        "run.sh",
        "bundle.env",
        "SHA256SUMS",
        "source/.gitignore",
        "source/assay",
        "source/tools/bundle_run.sh",
        "wheels/alpha-1.0-py3-none-any.whl",
        "prebuilt/inspections.json",
        "prebuilt/builds/sm_90a/kernel.so",
        "prebuilt/images/h100.json",
        "prebuilt/images/h100/toolchain/image.tar",
    }


class TestRunScript:
    """``run.sh`` inside a bundle."""

    @pytest.fixture
    def top(self, archive: Path, tmp_path: Path) -> Path:
        return unpack(archive, tmp_path / "node")

    def test_a_python_that_fits_runs_reproduce_on_what_was_built(self, top: Path):
        done = run_script(top, "--source", "003")
        assert done.returncode == 0, done.stderr
        assert (
            f"given ['reproduce', '--target', 'h100', '--prebuilt', '{top}/prebuilt', "
            "'--source', '003']"
        ) in done.stdout
        assert f"wheels {top}/wheels" in done.stdout
        assert "commit 0123abc" in done.stdout

    def test_it_runs_what_was_packed_unless_told_otherwise(self, top: Path):
        assert "'--source', '002']" in run_script(top).stdout
        assert "'002'" not in run_script(top, "--claim", "s003_e2e_latency").stdout

    def test_a_changed_file_is_refused(self, top: Path):
        (top / "prebuilt" / "builds" / "sm_90a" / "kernel.so").write_text("other machine code")
        done = run_script(top)
        assert done.returncode == 1
        assert "not what it was when it was packed" in done.stderr
        assert "given" not in done.stdout


@pytest.mark.parametrize("words", [("--target", "b200"), ("--target", "h100", "--python", "3.9"),
                                   ("--target", "h100", "--out", "/tmp")])  # fmt: skip
def test_bad_input_is_found_before_anything_is_done(assay: Any, words: tuple[str, ...]) -> None:
    assert assay("bundle", "--source", "003", *words).code == 2


@pytest.mark.parametrize(
    "words", [("bundle", "--target", "mine"), ("remote", "nowhere", "--dry-run")]
)
def test_a_target_that_git_does_not_track_is_refused(words, assay, tmp_path, monkeypatch):
    root = write_config(tmp_path / "checkout", ("h100",), ["fixture_duel"])
    script = "tools/remote_node.sh"
    write(root / script, (ROOT / script).read_text())
    git(root, "init", "-q")
    git(root, "add", ".")
    own = (root / "config" / "targets" / "h100.yaml").read_text().replace("id: h100", "id: mine")
    write(root / "config" / "targets" / "mine.yaml", own)
    monkeypatch.setattr(checkout_module, "ROOT", root)
    refused = assay(*words)
    assert refused.code == 2
    assert "config/targets/mine.yaml" in refused.err


def test_it_holds_the_wheels_of_the_toolchain(assay, tmp_path, monkeypatch):
    """By which a project's CUDA arms are compiled on a node without a network."""
    fetched: list[tuple[str, str]] = []
    monkeypatch.setattr(make, "run_workflow", lambda *_, **__: None)
    monkeypatch.setattr(make, "fetch", lambda lock, python, _: fetched.append((lock.name, python)))
    monkeypatch.setattr(make, "pack", lambda *given: given[-1].write_bytes(b""))
    words = ("--target", "h100", "--source", "003", "--runtime", "host", "--python", "3.12")
    assert assay("bundle", *words, "--out", tmp_path / "b.tar").code == 0
    assert fetched == [(f"{lock}.txt", "3.12") for lock in ("build", "host", "toolchain")]


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
