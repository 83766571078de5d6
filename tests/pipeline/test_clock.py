"""Files dated in the future, and a clock that goes backwards under a run."""

import os
import sys
import time
from pathlib import Path

import pytest

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.pipeline import snakemake_run
from assay.pipeline.clock import StepsBack, date_now
from assay.pipeline.workflow_process import run_process
from tests.library_checkout import REPOSITORY
from tests.report_fixtures import make_request, provision

HOUR_NS = 3600 * 10**9


def dated(path: Path, hours: float) -> Path:
    """Make a file, dated so many hours from now."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    when = time.time_ns() + int(hours * HOUR_NS)
    os.utime(path, ns=(when, when))
    return path


class TestDatingNow:
    """``date_now``."""

    def test_the_order_stays(self, tmp_path: Path) -> None:
        folder = tmp_path / "results" / "run"
        names = {"old": -1.0, "first": 1.0, "second": 2.0, "third": 48.0}
        paths = [dated(folder / name, hours) for name, hours in names.items()]
        assert date_now(tmp_path, "run") == 3
        dates = [path.stat().st_mtime for path in paths]
        assert dates == sorted(set(dates)), "as floating-point numbers, too"
        assert dates[-1] <= time.time()

    def test_what_a_run_is_made_of_counts(self, tmp_path: Path) -> None:
        source = dated(tmp_path / "kernels" / "a" / "a.cu", 1.0)
        assert date_now(tmp_path, "run") == 1
        assert source.stat().st_mtime <= time.time()

    def test_another_runs_files_stay(self, tmp_path: Path) -> None:
        other = dated(tmp_path / "results" / "other" / "plan.json", 1.0)
        assert date_now(tmp_path, "run") == 0
        assert other.stat().st_mtime > time.time()

    def test_somebody_elses_file_is_a_sentence(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        dated(tmp_path / "kernels" / "a.cu", 1.0)

        def refuse(*_: object, **__: object) -> None:
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(os, "utime", refuse)
        with pytest.raises(MissingEnvironment, match=r"a\.cu is dated in the future .* set this"):
            date_now(tmp_path, "run")


class TestWhileSomethingIsWaitedFor:
    """A step backwards is noticed, and only that."""

    def test_a_step_backwards_is_seen_once(self) -> None:
        ahead = [0.0]
        clock = StepsBack(lambda: time.time() + ahead[0])
        assert not clock.look()
        ahead[0] = -7200.0
        assert clock.look()
        assert not clock.look()
        assert clock.seen

    def test_a_step_forwards_is_none(self) -> None:
        ahead = [0.0]
        clock = StepsBack(lambda: time.time() + ahead[0])
        ahead[0] = 7200.0
        assert not clock.look()
        assert not clock.seen

    def test_a_running_workflow_is_looked_after(self, tmp_path: Path) -> None:
        looks: list[float] = []
        command = [sys.executable, "-c", "import time; time.sleep(1.7)"]
        look = lambda: looks.append(time.monotonic())  # noqa: E731
        assert run_process(command, tmp_path, tmp_path / "run", on_tick=look) == 0
        assert len(looks) >= 2

    def test_a_run_that_it_broke_says_so(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source = dated(tmp_path / "kernels" / "a.cu", 1.0)

        def broken(*_: object, on_tick: object, **__: object) -> int:
            assert callable(on_tick)
            on_tick()
            return 1

        monkeypatch.setattr(snakemake_run, "run_process", broken)
        monkeypatch.setattr(StepsBack, "look", lambda self: setattr(self, "seen", True) or True)
        request = make_request("first", [provision()], ["fixture"])
        with pytest.raises(CheckFailed, match="the clock of this machine went backwards"):
            snakemake_run.run_workflow(tmp_path, request, cores=1)
        assert source.stat().st_mtime <= time.time()


def test_snakemake_waits_for_no_file_by_the_wall_clock() -> None:
    profile = (REPOSITORY / "profiles" / "default" / "config.yaml").read_text(encoding="utf-8")
    assert "\nlatency-wait: 0\n" in profile
