"""``./assay reproduce`` itself, from the command line to a report that its last line verifies.

With the stand-in for the device's Python, and the comparisons of libraries, of the batches' tests.
"""

import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.catalog.load import load_catalog
from assay.verification.guarantees import TIMES
from assay.verification.report_archive import pack_report
from tests.pipeline.stand_in import answer_beside, own_environment, waited
from tests.pipeline.test_batched_workflow import NAMES, Checkout

FIRST, SECOND = "first", "second"


def says_verified(said: str, name: str) -> bool:
    """Whether that is the output of verify, by its last lines."""
    *_, passed, last = said.splitlines()
    assert last.startswith(TIMES)
    return passed.startswith(f"PASSED: {name}, signed by ")


@dataclass(frozen=True)
class Repository:
    """A checkout with a measured run, and one that took its figures over from its archive."""

    checkout: Checkout
    told: dict[str, subprocess.CompletedProcess[str]]

    @property
    def root(self) -> Path:
        return self.checkout.root

    def environment(self) -> dict[str, str]:
        """That of a person whose home is elsewhere."""
        environment = own_environment(self.root, self.checkout.folder)
        environment.pop("ASSAY_DEVICE_PYTHON", None)
        return environment

    def assay(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "assay.cli", *map(str, arguments)],
            cwd=self.root, env=self.environment(), capture_output=True, text=True,
            timeout=300, check=False,
        )  # fmt: skip

    def measuring(self, run: str) -> list[str]:
        python = self.checkout.folder / "python"
        words = ["reproduce", "--run", run, "--cores", "1", "--device-python", str(python)]
        return [*words, "--signing-key", str(self.key(run))]

    def reproduce(self, run: str, *more: object) -> subprocess.CompletedProcess[str]:
        """One start of a run that measures nothing, unless by ``more``."""
        own = ("--signing-key", self.key(run))
        return self.assay("reproduce", "--run", run, "--cores", 1, *own, *more)

    def key(self, run: str) -> Path:
        return self.checkout.folder / f"key of {run}"

    def files(self) -> dict[str, int]:
        """Every file below the checkout and the home, with the time of its last change.

        But for Snakemake's own, and what the stand-in notes.
        """
        others = {"__pycache__", ".snakemake"}
        folder = self.checkout.folder
        return {
            str(path.relative_to(folder)): path.stat().st_mtime_ns
            for path in folder.rglob("*")
            if path.is_file() and path.name != "starts" and not others & set(path.parts)
        }


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    checkout = Checkout(tmp_path_factory.mktemp("reproduce"))
    answer_beside(checkout.folder / "records", load_catalog(checkout.root), "h100", NAMES)
    repository = Repository(checkout, {})
    repository.told[FIRST] = repository.assay(*repository.measuring(FIRST))
    trusted = checkout.root / "config" / "trusted_keys"
    trusted.mkdir()
    if repository.told[FIRST].returncode == 0:
        shutil.copyfile(f"{repository.key(FIRST)}.pub", trusted / "first.pub")
    first = checkout.root / "reports" / FIRST
    archive = first.with_name(f"{FIRST}.tar.xz")
    if first.is_dir():
        archive.write_bytes(pack_report(first))
    repository.told[SECOND] = repository.reproduce(SECOND, "--recorded", f"reports/{archive.name}")
    return repository


@pytest.mark.parametrize("run", [FIRST, SECOND])
def test_it_verifies_the_report(repository: Repository, run: str) -> None:
    """The line that a run prints at its end can be typed as it stands."""
    told = repository.told[run]
    assert told.returncode == 0, told.stdout + told.stderr
    (line,) = [x for x in told.stdout.splitlines() if x.startswith("verify: ")]
    program, *arguments = shlex.split(line.removeprefix("verify: "))
    assert program == "./assay"
    assert arguments == ["verify", f"reports/{run}", "--key", f"{repository.key(run)}.pub"]
    verified = repository.assay(*arguments)
    assert verified.returncode == 0, verified.stderr
    assert says_verified(verified.stdout, f"reports/{run}")
    origin = "measurements of h100 are those of the signed reports they come from"
    assert (origin in verified.stdout) == (run != FIRST)


def test_of_a_new_run_nothing_is_left_and_all_is_told(repository: Repository) -> None:
    """It says what a start would do, and leaves everything as it is."""
    before = repository.files()
    answer = repository.assay(*repository.measuring("new"), "--dry-run")
    assert answer.returncode == 0, answer.stderr
    assert "would be measured on h100: 3 claims: fixture_duel_a_h100, " in answer.stdout
    assert "Snakemake" not in answer.stdout + answer.stderr
    assert repository.files() == before
    assert not (repository.root / "results" / "new").exists()
    assert not repository.key("new").exists()


class TestARunThatCannotGoOn:
    """It says why, once, and ends with the code of what failed."""

    @pytest.fixture
    def folder(self, repository: Repository) -> Iterator[Path]:
        """Where the stand-in is told what goes wrong."""
        yield repository.checkout.folder
        for name in ("bad", "gone", "slow", "waiting"):
            (repository.checkout.folder / name).unlink(missing_ok=True)

    def test_what_the_machine_lacks_ends_it_at_once(self, repository, folder):
        (folder / "gone").write_text("correctness")
        answer = repository.assay(*repository.measuring("lacking"))
        assert answer.returncode == 3, answer.stderr
        assert answer.stderr.splitlines()[-1] == (
            "assay: correctness.h100: the GPU has fallen off the bus"
        )
        assert "Traceback" not in answer.stderr
        assert "failed; what does not depend on it" not in answer.stderr
        assert (repository.root / "results" / "lacking" / "h100" / "platform.json").is_file()

    def test_a_failed_step_is_explained_once(self, repository: Repository, folder: Path) -> None:
        (folder / "bad").write_text("benchmark.duel_b")
        answer = repository.assay(*repository.measuring("failing"))
        assert answer.returncode == 1
        assert answer.stderr.count("device job 'benchmark' failed: it is bad") == 1
        assert "Traceback" not in answer.stderr

    @pytest.mark.parametrize(
        ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "term"]
    )
    def test_an_interrupted_one_says_what_is_kept_and_how_to_go_on(
        self, repository: Repository, folder: Path, number: signal.Signals, code: int
    ) -> None:
        run = f"stopped_{code}"
        (folder / "slow").write_text("benchmark.duel_b")
        arguments = repository.measuring(run)
        process = subprocess.Popen(
            [sys.executable, "-m", "assay.cli", *arguments],
            cwd=repository.root, env=repository.environment(), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert waited((folder / "waiting").exists)
        process.send_signal(number)
        out, err = process.communicate(timeout=120)
        assert process.returncode == code, err
        assert out == ""
        last = err.splitlines()[-1]
        kept = re.fullmatch(
            rf"assay: interrupted: .* is kept in .*/{run} \((\d+) measurements\); to go on: (.+)",
            last,
        )
        assert kept is not None, last
        assert int(kept[1]) >= 4, "three gates and the first of three benchmarks"
        assert kept[2] == shlex.join(["./assay", *arguments])
        assert err.count("interrupted") == 1
        assert "Traceback" not in err
        assert "failed" not in err
        if number is signal.SIGTERM:
            return  # to go on is the same
        (folder / "slow").unlink()
        repository.checkout.starts()
        again = repository.assay(*arguments)
        assert again.returncode == 0, again.stderr
        assert "benchmark duel_b duel_c" in repository.checkout.starts()


@pytest.mark.parametrize(
    "words",
    [
        ("--recorded", "nowhere"),
        ("--recorded", "Snakefile"),
        ("--recorded", "config"),
        ("--device-python", "/nonexistent/python", "--dry-run"),
    ],
)
def test_what_was_named_and_is_not_there_is_refused(repository, words):
    answer = repository.reproduce("new", *words)
    assert (answer.returncode, answer.stdout) == (2, "")
    (line,) = answer.stderr.splitlines()
    assert words[1] in line
