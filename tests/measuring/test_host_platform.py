"""Slurm's word on a job, read and held against the target."""

import json
import stat
from pathlib import Path

import pytest

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.catalog.load import load_catalog
from assay.measuring.host_platform import (
    assert_allocation,
    package_directories,
    parse_allocation,
    slurm_allocation,
)
from assay.records.targets import Target
from tests.report_fixtures import write_repository

# Slurm 22.05's answer to `scontrol show job --details`, less the lines without a bearing.
SHOWN = """JobId=1 JobName=wrap
   UserId=root(0) GroupId=root(0) MCS_label=N/A
   JobState=RUNNING Reason=None Dependency=(null)
   Partition=gpu AllocNode:Sid=localhost:15053
   ReqNodeList=(null) ExcNodeList=(null)
   NodeList=h100
   BatchHost=h100
   NumNodes=1 NumCPUs=1 NumTasks=1 CPUs/Task=1 ReqB:S:C:T=0:0:*:*
   TRES=cpu=1,node=1,billing=1
   JOB_GRES=gpu:h100:1
     Nodes=h100 CPU_IDs=0 Mem=0 GRES=gpu:h100:1(IDX:0)
   TresPerJob=gres:gpu:h100:1
"""
GRANT = """   JOB_GRES=gpu:h100:1
     Nodes=h100 CPU_IDs=0 Mem=0 GRES=gpu:h100:1(IDX:0)
"""
REQUEST = "   TresPerJob=gres:gpu:h100:1\n"
ENVIRONMENT = {"SLURM_JOB_ID": "1", "SLURMD_NODENAME": "h100"}


@pytest.fixture
def h100(tmp_path: Path) -> Target:
    return load_catalog(write_repository(tmp_path)).targets["h100"]


def test_node_partition_and_gpu_are_those_granted() -> None:
    found = parse_allocation(SHOWN, ENVIRONMENT)
    assert (found.scheduler, found.job_id, found.node) == ("slurm", "1", "h100")
    assert (found.partition, found.gpu_model, found.gpu_count) == ("gpu", "h100", 1)


def test_outside_a_step_the_batch_host_is_the_node() -> None:
    assert parse_allocation(SHOWN, {"SLURM_JOB_ID": "1"}).node == "h100"


def test_what_was_granted_counts_more_than_what_was_asked_for() -> None:
    shown = SHOWN.replace("JOB_GRES=gpu:h100:1", "JOB_GRES=shard:2,gpu:l4:2")
    found = parse_allocation(shown, ENVIRONMENT)
    assert (found.gpu_model, found.gpu_count) == ("l4", 2)


@pytest.mark.parametrize(
    "line",
    [
        "   TRES=cpu=1,mem=8G,node=1,billing=1,gres/gpu=3,gres/gpu:a100-sxm4=3\n",
        "   ReqTRES=cpu=1,gres/gpu=1\n   AllocTRES=cpu=1,gres/gpu=3,gres/gpu:a100-sxm4=3\n",
        "   TresPerNode=gres:gpu:a100-sxm4:3\n",
        "   TresPerNode=gres/gpu:a100-sxm4:3\n",
    ],
    ids=["old accounting", "new accounting", "old request", "new request"],
)
def test_other_spellings_of_a_typed_gpu(line: str) -> None:
    shown = SHOWN.replace(GRANT, "").replace(REQUEST, line)
    found = parse_allocation(shown, ENVIRONMENT)
    assert (found.gpu_model, found.gpu_count) == ("a100-sxm4", 3)


def test_an_untyped_gpu_has_no_model_and_is_refused(h100: Target) -> None:
    shown = SHOWN.replace("gpu:h100:1", "gpu:1").replace("billing=1", "billing=1,gres/gpu=1")
    found = parse_allocation(shown, ENVIRONMENT)
    assert (found.gpu_model, found.gpu_count) == ("", 0)
    with pytest.raises(CheckFailed, match="was given GPU type 'none'"):
        assert_allocation(h100, found)


def test_the_right_gpu_and_no_scheduler_are_both_accepted(h100: Target) -> None:
    assert_allocation(h100, parse_allocation(SHOWN, ENVIRONMENT))
    assert_allocation(h100, None)


def test_outside_slurm_there_is_no_allocation() -> None:
    assert slurm_allocation({"SLURMD_NODENAME": "h100"}) is None


class TestAskingSlurm:
    """The job is asked for with its details, where the grant stands."""

    @pytest.fixture
    def scontrol(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A ``scontrol`` that notes its arguments and gives the recorded answer."""
        program = tmp_path / "bin" / "scontrol"
        program.parent.mkdir()
        (tmp_path / "answer").write_text(SHOWN)
        program.write_text(
            "#!/bin/sh\n"
            f"printf '%s\\n' \"$*\" > {json.dumps(str(tmp_path / 'asked'))}\n"
            f"exec /bin/cat {json.dumps(str(tmp_path / 'answer'))}\n"
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(program.parent))
        return program

    def test_its_answer_is_read(self, scontrol: Path, tmp_path: Path) -> None:
        found = slurm_allocation(ENVIRONMENT)
        assert found == parse_allocation(SHOWN, ENVIRONMENT)
        assert (tmp_path / "asked").read_text() == "show job --details 1\n"

    def test_silence_is_an_error_by_name(self, scontrol: Path) -> None:
        scontrol.write_text("#!/bin/sh\nexit 1\n")
        with pytest.raises(MissingEnvironment, match="does not describe job 1"):
            slurm_allocation(ENVIRONMENT)


def test_a_directory_of_packages_is_told_with_the_versions_that_lie_there(tmp_path: Path) -> None:
    for name, metadata in {
        "torch-2.11.0.dist-info": "Name: torch\nVersion: 2.11.0\n",
        "nvidia_ml_py-13.580.dist-info": "Name: nvidia-ml-py\nVersion: 13.580\n",
        "broken-1.dist-info": "",
    }.items():
        (tmp_path / "full" / name).mkdir(parents=True)
        (tmp_path / "full" / name / "METADATA").write_text(f"Metadata-Version: 2.1\n{metadata}")
    (tmp_path / "empty").mkdir()
    full, empty = package_directories([tmp_path / "full", tmp_path / "empty"])
    assert (full.path, empty.path) == (str(tmp_path / "full"), str(tmp_path / "empty"))
    assert full.packages == {"nvidia-ml-py": "13.580", "torch": "2.11.0"}
    assert empty.packages == {}
