"""Limits of control groups, of either version."""

from pathlib import Path

import pytest

from assay.measuring.held_gpu import cgroup_limits
from assay.shared.files import write_bytes

V1, V2 = "9:cpuset:/\n4:memory:/slurm/uid_1/job_7\n0::/\n", "0::/slurm/job_7/step_0\n"


def limits(root: Path, groups: str, files: dict[str, str]) -> int | None:
    write_bytes(root / "proc/self/cgroup", groups.encode())
    for name, text in files.items():
        write_bytes(root / "sys/fs/cgroup" / name, text.encode())
    return cgroup_limits(root).memory_bytes


@pytest.mark.parametrize(
    ("groups", "files", "memory"),
    [
        (V2, {"slurm/job_7/step_0/memory.max": "max\n", "slurm/job_7/memory.max": "800\n"}, 800),
        (V2, {"slurm/job_7/step_0/memory.max": "700", "slurm/memory.max": "900"}, 700),
        (V2, {"slurm/job_7/memory.max": "max\n"}, None),
        (V1, {"memory/slurm/uid_1/job_7/memory.limit_in_bytes": "600\n"}, 600),
        (V1, {"memory/slurm/uid_1/job_7/memory.limit_in_bytes": "9223372036854771712"}, None),
        (V2, {}, None),
    ],
)
def test_the_narrowest_group_decides(
    tmp_path: Path, groups: str, files: dict[str, str], memory: int | None
) -> None:
    assert limits(tmp_path, groups, files) == memory


def test_gpus_are_those_that_open(tmp_path: Path) -> None:
    for name in ("nvidia0", "nvidiactl"):
        write_bytes(tmp_path / "dev" / name, b"")
    (tmp_path / "dev" / "nvidia1").symlink_to(tmp_path / "gone")
    assert cgroup_limits(tmp_path).gpu_devices == (str(tmp_path / "dev" / "nvidia0"),)
