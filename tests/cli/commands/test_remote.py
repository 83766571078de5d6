"""``./assay remote``: from a command here to a verified report here, over a real ssh."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.base.io import read_record
from assay.cli import checkout as checkout_module
from assay.evidence.stages import pipeline_path
from assay.records.attestation import PipelineRecord
from assay.verification.attestation import load_signer
from assay.verification.sign import public_key_path
from assay.verification.verify import verify
from tests.git_history import git
from tests.library_checkout import REPOSITORY, copy_code, write_config
from tests.remote.sshd import LoopbackMachine
from tests.report_fixtures import provision, signed_report, write_run

pytestmark = pytest.mark.ssh

RECORDED = "synthetic_test_fixture"
RUN = "rented"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("remote")


@pytest.fixture(scope="module")
def machine(folder: Path) -> Iterator[LoopbackMachine]:
    with LoopbackMachine(folder / "machine") as running:
        yield running


@pytest.fixture(scope="module")
def checkout(folder: Path) -> Path:
    """A checkout whose claim is answered by a signed report: no machine here has a GPU."""
    root = write_config(folder / "check out", ("h100",), ["fixture_duel"])
    copy_code(root)
    shutil.copy(REPOSITORY / "assay", root)
    (root / "tools").mkdir()
    shutil.copy(REPOSITORY / "tools" / "remote_node.sh", root / "tools")
    (root / ".gitignore").write_text("results/\n/reports/*\n!/reports/templates\n__pycache__\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "All"]):
        git(root, *words)
    return root


@pytest.fixture(scope="module")
def recorded(folder: Path) -> Path:
    root = write_config(folder / "recorder", ("h100",), ["fixture_duel"])
    shutil.copytree(REPOSITORY / "reports" / "templates", root / "reports" / "templates")
    write_run(root, RECORDED, [provision("h100")])
    return signed_report(root, RECORDED, folder / "key")


class Caller:
    """Whoever types ``./assay remote``."""

    def __init__(self, folder: Path, machine: LoopbackMachine, checkout: Path) -> None:
        self.folder, self.machine, self.checkout = folder, machine, checkout
        self.key = folder / "own key" / "key.pem"

    def command(self, *words: str, run: str = RUN) -> list[str]:
        return [str(self.checkout / "assay"), "remote", "127.0.0.1", "--run", run,
                "--signing-key", str(self.key), *words]  # fmt: skip

    def environment(self) -> dict[str, str]:
        path = f"{self.machine.ways}:{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "ASSAY_NO_VENV": "1", "ASSAY_PYTHON": sys.executable}

    def type(self, *words: str, run: str = RUN) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words, run=run), cwd=self.folder, env=self.environment(),
            capture_output=True, text=True, timeout=400, check=False,
        )  # fmt: skip


@pytest.fixture(scope="module")
def caller(folder: Path, machine: LoopbackMachine, checkout: Path) -> Caller:
    return Caller(folder, machine, checkout)


@pytest.fixture(scope="module")
def asked(recorded: Path, folder: Path) -> list[str]:
    return ["--recorded", str(recorded), "--key", str(folder / "key.pub"), "--runtime", "host"]


def here(caller: Caller) -> list[str]:
    """Everything below results and reports of the caller's, but for templates."""
    found = [p for n in ("results", "reports") for p in (caller.checkout / n).glob("*")]
    return sorted(p.name for p in found if p.name != "templates")


def test_a_dry_run_says_what_would_be_copied_and_writes_nothing(caller, asked):
    done = caller.type(*asked, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "127.0.0.1: NVIDIA H100 80GB HBM3" in done.stdout
    assert "files of this checkout" in done.stdout
    assert '"$here/source/assay" reproduce --' in done.stdout
    assert "--runtime=host" in done.stdout
    assert here(caller) == []
    assert not caller.key.exists()
    assert not list(caller.machine.home.iterdir())


def test_what_options_name_is_copied_and_found_there(caller: Caller, folder: Path) -> None:
    caller = Caller(folder, caller.machine, REPOSITORY)
    project, program = folder / "my project", folder / "its program"
    words = [str(caller.checkout / "assay"), "new", str(project)]
    subprocess.run(words, check=True, env=caller.environment(), capture_output=True)
    program.mkdir()
    (program / "kernel.cu").write_text("// the author's\n")
    told = caller.type(
        "--dry-run", "--project", str(project), "--original", f"mine={program}",
        "--original-run", "mine=./x 'a b'", "--device-python", "/opt/python", "--strict",
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    line = next(each for each in told.stdout.splitlines() if each.startswith("would run there"))
    assert """--project="$here"/'given/1/my project'""" in line
    assert """--original=mine="$here"/'given/2/its program'""" in line
    assert "--device-python=/opt/python" in line
    given = shlex.split(line.partition("reproduce ")[2])
    assert "--original-run=mine=./x 'a b'" in given
    assert "--strict" not in given, "judged here"


@pytest.fixture(scope="module")
def done(caller: Caller, asked: list[str]) -> subprocess.CompletedProcess[str]:
    """A run that was interrupted here while it went on there, and picked up."""
    process = subprocess.Popen(
        caller.command(*asked), cwd=caller.folder, env=caller.environment(),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    shown = []
    for line in process.stdout:
        shown.append(line)
        if "named when it ends" in line:
            break
    process.send_signal(signal.SIGTERM)
    shown += process.stdout
    told = "".join(shown)
    assert process.wait() == 143, told
    assert "interrupted: the run goes on on 127.0.0.1" in told
    assert here(caller) == []
    words = shlex.split(told.splitlines()[-1].partition("to go on: ")[2])
    assert words[1:3] == ["remote", "--resume"]
    return subprocess.run(
        words, cwd=caller.folder, env=caller.environment(),
        capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip


def test_what_goes_on_there_is_picked_up(done, caller):
    assert done.returncode == 0, done.stdout + done.stderr
    assert "127.0.0.1 said so far:" in done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("verify: ")]
    program, *words = shlex.split(line.removeprefix("verify: "))
    assert program == str(caller.checkout / "assay")
    assert words[0] == "verify"
    assert caller.checkout.parent / words[1] == caller.checkout / "reports" / RUN


def test_the_report_is_signed_here_and_verifies(done, caller):
    report = caller.checkout / "reports" / RUN
    keys = [public_key_path(caller.key), caller.folder / "key.pub"]
    result = verify(report, keys, repository=caller.checkout)
    assert result.holds
    keyid = load_signer(caller.key).public_key.keyid
    assert f"signed by: your key {keyid}" in done.stdout
    named = read_record(PipelineRecord, report / "evidence" / pipeline_path()).signing_key
    assert named.keyid == keyid
    assert here(caller) == [RUN, RUN]
    log = caller.checkout / "results" / RUN / "logs" / "remote.log"
    assert "named when it ends" in log.read_text()


def test_no_private_key_was_there(done: subprocess.CompletedProcess[str], caller: Caller) -> None:
    secret = caller.key.read_bytes().splitlines()[1]
    files = [path for path in caller.machine.home.rglob("*") if path.is_file()]
    assert len(files) > 100
    assert not [path for path in files if secret in path.read_bytes()]
    assert not [path for path in files if b"PRIVATE KEY" in path.read_bytes()[:200]]


def test_the_folder_there_goes_away_on_request(done, caller):
    removed = caller.type("--remove")
    assert removed.returncode == 0, removed.stderr
    assert "assay-remote/rented is removed" in removed.stderr
    assert not list(caller.machine.home.iterdir())
    again = caller.type("--resume")
    assert (again.returncode, "no run was started" in again.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("gpu", "--resume", "--remove"), "do not go together"),
        (("gpu", "--run", "../x"), "--run ../x: use lower-case letters"),
        (("gpu", "--executor", "slurm"), "leave --executor out"),
        (("gpu", "--folder", "../x"), "name a folder of its own"),
        (("gpu", "--source", "nothing"), "nothing"),
        (("gpu", "--recorded", "nowhere"), "nowhere: no such file or folder"),
        (("--run", "x", "--", "-oProxyCommand=id"), "names no machine"),
        (("--source", "003", "gpu"), "names no machine"),
        (("gpu", "--nothing"), "(./assay remote --help"),
    ],
)
def test_bad_options_are_one_sentence(assay, tmp_path, words, says):
    refused = assay("remote", *([] if "--resume" in words else ["--dry-run"]), *words)
    assert (refused.code, says in refused.err) == (2, True), refused.err
    assert len(refused.err.splitlines()) == 1


def test_an_installed_package_is_no_checkout(assay, tmp_path, monkeypatch):
    monkeypatch.setattr(checkout_module, "ROOT", tmp_path)
    refused = assay("remote", "gpu")
    assert (refused.code, "clone the repository" in refused.err) == (3, True)
