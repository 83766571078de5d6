"""confinement: what a project's code cannot do to records, to Assay and to whoever started it."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from assay.device.worker.forks import each_child, run_child
from assay.shared import confinement

pytestmark = pytest.mark.skipif(not confinement.available(), reason="no Landlock in this kernel")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run's folder with a record and a cache, and children that are confined to the cache."""
    (tmp_path / "results" / "cache").mkdir(parents=True)
    (tmp_path / "results" / "record.json").write_text("{}")
    (tmp_path / "project").mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setenv(confinement.VARIABLE, f"{tmp_path / 'results'}:{tmp_path / 'no-such'}")
    monkeypatch.setattr(confinement._Children, "by", None)
    confinement.confine_children(tmp_path / "results" / "cache", [tmp_path / "project"])
    return tmp_path


def refused(act):
    """Return the name of the error with which a confined child fails at ``act``."""
    outcome = run_child(lambda _note: act() or {}, 60.0)
    return outcome.error and outcome.error.partition(":")[0]


def in_a_daemon(path):
    """Have a process write that outlives whoever started it."""
    code = f"import os, time; os.fork() and os._exit(0); open({str(path)!r}, 'w').write('mine')"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert b"PermissionError" in ended.stderr


@pytest.mark.parametrize(
    "act",
    [
        lambda run: (run / "results" / "record.json").write_text("mine"),
        lambda run: (run / "results" / "record.json").unlink(),
        lambda run: (run / "results" / "record.json").rename(run / "elsewhere" / "record.json"),
        lambda run: os.truncate(run / "results" / "record.json", 0),
        lambda run: (run / "results" / "more.json").write_text("mine"),
        lambda run: (run / "project" / "solution.py").write_text("mine"),
        lambda run: Path(f"/proc/{os.getppid()}/mem").write_bytes(b"mine"),
        lambda run: os.kill(os.getppid(), signal.SIGCONT),
    ],
)
def test_a_confined_child_changes_nothing_of_the_run(run, act):
    assert refused(lambda: act(run)) == "PermissionError"
    assert (run / "results" / "record.json").read_text() == "{}"
    assert list((run / "project").iterdir()) == []


def test_nor_does_what_it_starts(run):
    assert refused(lambda: in_a_daemon(run / "results" / "record.json")) is None


def test_it_reads_all_and_writes_elsewhere(run):
    def act():
        import tempfile

        (run / "elsewhere" / "new").write_text((run / "results" / "record.json").read_text())
        (run / "results" / "cache" / "a").mkdir()
        (run / "results" / "cache" / "one").write_text("kernel")
        (run / "results" / "cache" / "one").rename(run / "results" / "cache" / "a" / "one")
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"x")
        Path("/dev/null").write_text("x")
        subprocess.run([sys.executable, "-c", "import json"], check=True)

    assert refused(act) is None
    assert (run / "elsewhere" / "new").read_text() == "{}"


def test_a_link_to_the_run_opens_no_way(run):
    (run / "elsewhere" / "link").symlink_to(run / "results")
    (run / "direct").symlink_to(run / "results")
    for way in ("elsewhere/link", "direct"):
        assert refused(lambda way=way: (run / way / "record.json").write_text("")) is not None


def test_temporary_files_move_only_where_they_must(run, monkeypatch):
    for folder, stays in ((run, False), (run / "elsewhere", True)):
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        outcome = run_child(lambda _note: {"at": tempfile.gettempdir()}, 60.0)
        assert (outcome.value["at"] == str(folder)) is stays


def test_it_has_no_way_to_a_siblings_result(run):
    def wait(_note):
        time.sleep(0.3)
        return {"honest": True}

    def held(_note):
        links = list(Path("/proc/self/fd").iterdir())
        named = [str(link.readlink()) for link in links if link.is_symlink()]
        return {"results": sum(name.endswith("(deleted)") for name in named)}

    alone = run_child(held, 60.0)
    waited, beside = each_child([wait, held], 60.0, 2)
    assert waited.value == {"honest": True}
    assert beside.value == alone.value


def test_other_children_are_free(run, monkeypatch):
    monkeypatch.setattr(confinement._Children, "by", None)
    assert refused(lambda: (run / "results" / "record.json").write_text("ours")) is None
