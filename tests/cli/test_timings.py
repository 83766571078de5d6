"""Where the time of a run went, as ``reproduce --timings`` says it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from assay.cli.commands.reproduce import tell_timings
from assay.evidence.timings import write_timing
from assay.pipeline.request import Options

OPTIONS = Options("a", (), (), "host", "local", Path("key"))


def test_the_longest_stage_comes_first_and_what_did_not_run_now_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, now = tmp_path / "results" / "a", datetime.now(UTC)
    long_ago = now.replace(year=now.year - 1)
    write_timing(run, "build", {"artifact": "x", "arch": "sm_90a"}, now, 2.0)
    write_timing(run, "build", {"artifact": "y", "arch": "sm_90a"}, now, 3.0)
    write_timing(run, "benchmark", {"target": "h100"}, now, 60.0, {"GPU-1": 45.0})
    write_timing(run, "cheats", {"target": "h100"}, long_ago, 9.0)
    tell_timings(tmp_path, OPTIONS, now.timestamp())
    words = [line.split() for line in capsys.readouterr().err.splitlines()]
    assert [(line[0], line[2]) for line in words[:2]] == [("60.0", "benchmark,"), ("5.0", "build")]
    assert "45.0" in words[0]
    assert len(words) == 3
