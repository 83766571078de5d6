"""python -m assay.device: exit codes and one sentence each."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.shared.job import PlatformJob
from tests.jobs import TARGET, benchmark, document

SOURCE = Path(__file__).parents[2] / "src"


def run(tmp_path, whole, *arguments):
    path = tmp_path / "job.json"
    path.write_text(json.dumps(whole))
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-m", "assay.device", str(path), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_no_device_is_3_with_one_sentence(tmp_path):
    result = run(tmp_path, document(PlatformJob(TARGET), str(tmp_path / "out.json")))
    assert result.returncode == 3
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize(
    ("edit", "place"),
    [
        (lambda whole: whole.update(task="dance"), "dance"),
        (lambda whole: whole["job"].update(sampels=1), "sampels"),
    ],
)
def test_a_bad_job_is_2_even_without_a_gpu(tmp_path, edit, place):
    whole = document(benchmark())
    edit(whole)
    result = run(tmp_path, whole)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert place in result.stderr


def test_an_interrupt_is_130_without_a_traceback(tmp_path, monkeypatch, capsys):
    from assay.device import __main__ as device

    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(device, "read_job", interrupted)
    assert device.main(["job.json"]) == 130
    told = capsys.readouterr().err
    assert told == "interrupted; the records that were written before are whole\n"
