"""The partitions of this machine's cluster and the GPUs of its nodes, as sinfo tells them."""

import re
import subprocess
from dataclasses import dataclass

from assay.base.errors import MissingEnvironment

TYPED = re.compile(r"gpu:([A-Za-z0-9_.-]+):(\d+)")
LIMIT = re.compile(r"(?:(?P<days>\d+)-)?(?:(?P<hours>\d+):)?(?P<minutes>\d+):(?P<seconds>\d+)")
ASK_S = 30


@dataclass(frozen=True)
class Partition:
    """One queue of the cluster."""

    gpu_types: frozenset[str]
    minutes: int | None
    """The longest time limit that it grants; None where it sets none."""


def slurm_partitions() -> dict[str, Partition]:
    """Return the partitions by name. Raises MissingEnvironment when Slurm is silent."""
    return parse_partitions(_sinfo("--Format=PartitionName:200,Time:40,Gres:400"))


def gpus_of_node(node: str, gpu_type: str) -> int:
    """Return how many GPUs of a type a node has. Raises MissingEnvironment when Slurm is silent."""
    shown = _sinfo("--Node", f"--nodes={node}", "--Format=Gres:400")
    return max((int(count) for name, count in TYPED.findall(shown) if name == gpu_type), default=0)


def parse_partitions(shown: str) -> dict[str, Partition]:
    """Read columns of name, time limit and GRES; a partition has a line for each kind of node."""
    found: dict[str, Partition] = {}
    for line in shown.splitlines():
        words = line.split(maxsplit=2)
        if len(words) < 2:
            continue
        name, types = words[0], frozenset(name for name, _ in TYPED.findall(line))
        known = found.get(name, Partition(frozenset(), None)).gpu_types
        found[name] = Partition(known | types, _minutes(words[1]))
    return found


def _sinfo(*options: str) -> str:
    try:
        return subprocess.run(
            ["sinfo", "--noheader", *options],
            capture_output=True, text=True, check=True, timeout=ASK_S,
        ).stdout  # fmt: skip
    except subprocess.CalledProcessError as error:
        last = error.stderr.strip().rpartition("\n")[2] or f"it ends with code {error.returncode}"
        raise MissingEnvironment(f"Slurm does not answer sinfo: {last}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingEnvironment(f"Slurm does not answer sinfo: {error}") from error


def _minutes(limit: str) -> int | None:
    """Return Slurm's ``[days-]hours:minutes:seconds`` in minutes; None for ``infinite``."""
    matched = LIMIT.fullmatch(limit)
    if matched is None:
        return None
    days, hours, minutes = (int(matched[part] or 0) for part in ("days", "hours", "minutes"))
    return (days * 24 + hours) * 60 + minutes
