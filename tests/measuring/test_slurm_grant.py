"""Slurm's word on a job, read and held against the target."""

from pathlib import Path

import pytest

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.measuring.slurm_grant import assert_grant, gpu_types, parse_grant, slurm_grant
from tests import builders as b
from tests.pipeline.stand_in import write_program

TARGET = b.target()
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


def test_node_partition_and_gpu_are_those_granted() -> None:
    found = parse_grant(SHOWN, ENVIRONMENT)
    assert (found.job_id, found.node) == ("1", "h100")
    assert str(found) == "Slurm job 1 on node h100"
    assert (found.partition, found.gpu_model, found.gpu_count) == ("gpu", "h100", 1)
    assert found.part_of_gpu is None


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
    found = parse_grant(shown, ENVIRONMENT)
    assert (found.gpu_model, found.gpu_count) == ("a100-sxm4", 3)


def test_the_right_gpu_is_accepted_by_the_name_that_the_site_gives_it() -> None:
    assert_grant(TARGET, "h100", parse_grant(SHOWN, ENVIRONMENT))
    renamed = parse_grant(SHOWN.replace("gpu:h100:1", "gpu:nvidia_h100:1"), ENVIRONMENT)
    assert_grant(TARGET, "nvidia_h100", renamed)
    with pytest.raises(CheckFailed, match=r"given GPU type 'nvidia_h100', but .* needs 'h100'"):
        assert_grant(TARGET, "h100", renamed)


@pytest.mark.parametrize(
    ("grant", "says"),
    [
        ("JOB_GRES=shard:4", "a part of a GPU (gres/shard)"),
        ("JOB_GRES=mps:50", "a part of a GPU (gres/mps)"),
        ("JOB_GRES=gpu:h100:2", "was given 2 GPUs, not one"),
    ],
)
def test_a_part_of_a_gpu_and_several_are_refused(grant: str, says: str) -> None:
    found = parse_grant(SHOWN.replace("JOB_GRES=gpu:h100:1", grant), ENVIRONMENT)
    with pytest.raises(CheckFailed) as caught:
        assert_grant(TARGET, "h100", found)
    assert says in str(caught.value)


class TestAskingSlurm:
    """Its commands' answers, or their silence."""

    @pytest.fixture
    def scontrol(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A ``scontrol`` that gives the answer that lies beside it."""
        program = tmp_path / "bin" / "scontrol"
        write_program(program, f"#!/bin/sh\nexec /bin/cat '{tmp_path}/answer'\n")
        monkeypatch.setenv("PATH", str(program.parent))
        return program

    def test_silence_is_an_error_by_name(self, scontrol: Path) -> None:
        scontrol.write_text("#!/bin/sh\nexit 1\n")
        with pytest.raises(MissingEnvironment, match="does not answer scontrol"):
            slurm_grant(ENVIRONMENT)

    def test_sinfo_says_which_gpus_there_are(self, tmp_path, monkeypatch):
        # A line for each partition that a node is in.
        lines = ("gpu:h100:8(S:0-1),gpu:l4:1", "(null)", "gpu:h100:8(S:0-1),nvme:2")
        said = "".join(f"echo '{line}'\n" for line in lines)
        write_program(tmp_path / "sinfo", f"#!/bin/sh\n{said}")
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        assert gpu_types() == {"h100", "l4"}
