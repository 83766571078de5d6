"""A Slurm on loopback: one controller, and nodes ``l4`` and ``h100`` on this machine, beside a
``spare`` one that tests take down.

Installs nothing. Slurm's commands and its job steps read /etc/slurm, so that is where the
configuration goes, and it is taken away again at the end; a configuration that is not ours is never
touched. Everything else (keys, sockets, spool, logs) lies below a temporary directory.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from assay.base.progress import exclusive

NODES = {"l4": "l4", "h100": "h100"}
"""Node name to the type of its GPUs."""
SPARE = "spare"
"""A node in a partition of its own, of its name: what befalls it meets no other test's jobs."""
TYPES = {**NODES, SPARE: "h100"}
"""The same of every node."""
PARTITION = "gpu"
URGENT = "urgent"
"""Whose jobs preempt those of the spare node, which Slurm then does not start again itself."""
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo", "scontrol")
CONFIG = Path("/etc/slurm")
MARK = "# Written by Assay's tests; safe to delete.\n"
LOCK = Path(tempfile.gettempdir()) / "assay-slurm.lock"
SITE = "schema: assay/cluster/1\n"
"""What a checkout's config/cluster.yaml says of it."""
READY_S = 60.0
STOP_S = 10.0


class ClusterError(Exception):
    """The cluster did not come up; the text holds the end of its logs."""


def missing() -> str | None:
    """Why no cluster can be started here, as one sentence; None when one can."""
    absent = [name for name in PROGRAMS if _find(name) is None]
    if absent:
        names = ", ".join(absent)
        return f"{names} not installed (apt-get install slurmctld slurmd slurm-client munge)"
    if os.geteuid() != 0:
        return "starting Slurm's daemons on one machine takes root"
    for name in ("slurm.conf", "gres.conf"):
        if (CONFIG / name).exists() and not _is_ours(CONFIG / name):
            return f"{CONFIG / name} belongs to a real cluster"
    return None


class Cluster:
    """Daemons that ``start`` starts and ``stop`` ends by their ids."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="assay-slurm-"))
        self.processes: list[tuple[str, subprocess.Popen[bytes]]] = []

    def start(self) -> None:
        self.directory.chmod(0o755)
        for name in ("state", "spool", "log", "munge"):
            (self.directory / name).mkdir(mode=0o755)
        key = self.directory / "munge" / "key"
        key.touch(mode=0o400)
        key.write_bytes(os.urandom(128))
        CONFIG.mkdir(exist_ok=True)
        (CONFIG / "slurm.conf").write_text(slurm_conf(self.directory, free_ports(1 + len(TYPES))))
        (CONFIG / "gres.conf").write_text(gres_conf())

        munge = self.directory / "munge"
        self._run(
            "munged", "--foreground", "--force", "--num-threads=2",
            f"--key-file={key}", f"--socket={munge / 'socket'}", f"--pid-file={munge / 'pid'}",
            f"--log-file={munge / 'log'}", f"--seed-file={munge / 'seed'}",
        )  # fmt: skip
        self._wait("munged made no socket", (munge / "socket").exists)
        self._run("slurmctld", "-D")
        for node in TYPES:
            self._run("slurmd", "-D", "-N", node)
        self._wait("the nodes did not become idle", self._idle)

    def _run(self, program: str, *arguments: str) -> None:
        path = _find(program)
        assert path is not None
        name = "-".join([program, *arguments[-1:]]) if program == "slurmd" else program
        with (self.directory / "log" / f"{name}.out").open("wb") as log:
            process = subprocess.Popen(
                [path, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.processes.append((name, process))

    def _wait(self, problem: str, ready: Callable[[], bool]) -> None:
        limit = time.monotonic() + READY_S
        while not ready():
            dead = [name for name, process in self.processes if process.poll() is not None]
            if dead or time.monotonic() > limit:
                ended = f" ({', '.join(dead)} ended)" if dead else ""
                raise ClusterError(f"{problem}{ended}\n{self.logs()}")
            time.sleep(0.2)

    def _idle(self) -> bool:
        states = slurm("sinfo", "--noheader", "--Node", "--format=%N %T").split("\n")
        return set(states) == {f"{node} idle" for node in TYPES}  # each in every partition

    def logs(self) -> str:
        return "\n".join(
            f"== {path.name}\n" + "\n".join(path.read_text(errors="replace").splitlines()[-15:])
            for path in sorted((self.directory / "log").glob("*"))
        )

    def stop(self) -> None:
        """End jobs and daemons in the reverse order of their start; remove every file."""
        if any(name == "slurmctld" and p.poll() is None for name, p in self.processes):
            slurm("scancel", f"--partition={PARTITION}")
        for _, process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for name in ("slurm.conf", "gres.conf"):
            if _is_ours(CONFIG / name):
                (CONFIG / name).unlink()
        shutil.rmtree(self.directory, ignore_errors=True)


def slurm_conf(directory: Path, ports: Sequence[int]) -> str:
    """Configuration of a controller and its nodes; each daemon listens on loopback only."""
    host = socket.gethostname().split(".")[0]
    nodes = "\n".join(
        f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=4 "
        f"RealMemory=16000 Gres=gpu:{model}:1 State=UNKNOWN"
        for (node, model), port in zip(TYPES.items(), ports[1:], strict=True)
    )
    return f"""{MARK}ClusterName=assay
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={directory}/munge/socket
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool/%n
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd-%n.pid
SlurmctldLogFile={directory}/log/slurmctld.log
SlurmdLogFile={directory}/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1
SlurmdParameters=config_overrides
ReturnToService=2
MinJobAge=600
KillWait=5
OverTimeLimit=0
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
GresTypes=gpu
{nodes}
PartitionName={PARTITION} Nodes={",".join(NODES)} Default=YES MaxTime=INFINITE State=UP
PartitionName={SPARE} Nodes={SPARE} State=UP
PartitionName={URGENT} Nodes={SPARE} PriorityTier=10 PreemptMode=OFF State=UP
"""


def gres_conf() -> str:
    # A GPU needs a file of its own on its node, and any device file will do.
    lines = [
        f"NodeName={node} Name=gpu Type={model} File=/dev/null" for node, model in TYPES.items()
    ]
    return MARK + "AutoDetect=off\n" + "\n".join(lines) + "\n"


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports: list[int] = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """Start the one cluster of this machine, once nobody else's runs; stop it at the end."""
    with exclusive(LOCK, "another cluster uses /etc/slurm; waiting for its end"):
        cluster = Cluster()
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()


def slurm(*command: str) -> str:
    """Output of one of Slurm's commands, stripped; empty when it fails."""
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    return run.stdout.strip() if run.returncode == 0 else ""


def _find(program: str) -> str | None:
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def _is_ours(path: Path) -> bool:
    return path.is_file() and path.read_text(errors="replace").startswith(MARK)
