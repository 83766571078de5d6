"""Engines of a test's own: a real dockerd, a real Podman service, on private sockets and folders.

Installs nothing and touches no engine that runs already. Everything (sockets, images, settings,
logs) lies below one temporary directory that goes at the end, with the daemons themselves.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType

SBIN = "/usr/local/sbin:/usr/sbin:/sbin"
READY_S = 60.0
STOP_S = 30.0


class EngineError(Exception):
    """The engine did not come up; the text holds the end of its log."""


def find(program: str) -> str | None:
    """Path of a program, daemons' folders included."""
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:{SBIN}")


def _missing(packages: str, *programs: str) -> str | None:
    absent = [program for program in programs if find(program) is None]
    if absent:
        return f"{', '.join(absent)} not installed (apt-get install {packages})"
    if os.geteuid() != 0:
        return "starting an engine of the test's own takes root"
    return None


def missing_docker() -> str | None:
    """Why no Docker Engine can be started here, as one sentence; None when one can."""
    programs = ("docker", "dockerd", "containerd", "runc", "busybox")
    return _missing("docker.io docker-cli busybox-static", *programs)


def missing_podman() -> str | None:
    """Why no Podman service can be started here, as one sentence; None when one can."""
    return _missing("podman runc busybox-static", "podman", "conmon", "runc", "busybox")


def missing_apptainer() -> str | None:
    """Why Apptainer cannot run here, as one sentence; None when it can."""
    if find("apptainer") is None:
        return "apptainer not installed (tests/containers/install_apptainer.sh)"
    return None if find("busybox") else "busybox not installed (apt-get install busybox-static)"


class Engine:
    """One daemon: started on entry, ended by its id on exit, its folder removed."""

    name = ""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix=f"assay-{self.name}-"))
        self.directory.chmod(0o755)
        self.socket = self.directory / "engine.sock"
        self.log = self.directory / "log"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """What DOCKER_HOST or CONTAINER_HOST is set to."""
        return f"unix://{self.socket}"

    def command(self) -> tuple[list[str], dict[str, str]]:
        """The daemon's command line and the variables it gets beside the caller's."""
        raise NotImplementedError

    def __enter__(self) -> "Engine":
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _start(self) -> None:
        arguments, variables = self.command()
        path = f"{os.environ.get('PATH', '')}:{SBIN}"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                arguments,
                env={**os.environ, "PATH": path, **variables},
                cwd=self.directory,  # where Podman's monitor notes a lack of memory
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        limit = time.monotonic() + READY_S
        while not _answers(self.socket):
            if self.process.poll() is not None or time.monotonic() > limit:
                tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-20:])
                raise EngineError(f"{self.name} does not answer\n{tail}")
            time.sleep(0.1)

    def stop(self) -> None:
        if self.process is not None:
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for process in processes_of(self.directory):  # what a daemon that was killed left running
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        for point in mounts_below(self.directory):
            subprocess.run(["umount", "--lazy", point], check=False, capture_output=True)
        shutil.rmtree(self.directory, ignore_errors=True)


class Dockerd(Engine):
    """The Docker Engine with a containerd of its own, without a bridge and without iptables."""

    name = "docker"

    def command(self) -> tuple[list[str], dict[str, str]]:
        config = self.directory / "daemon.json"
        config.write_text(json.dumps({"userland-proxy": False}))
        dockerd = find("dockerd")
        assert dockerd is not None
        arguments = [
            dockerd,
            f"--config-file={config}",
            f"--data-root={self.directory / 'data'}",
            f"--exec-root={self.directory / 'exec'}",
            f"--pidfile={self.directory / 'pid'}",
            f"--host={self.url}",
            f"--storage-driver={storage_driver(self.directory, 'overlay2')}",
            "--iptables=false",
            "--ip6tables=false",
            "--bridge=none",
        ]
        # A folder for its temporary files, so that they go with the rest.
        return arguments, {"DOCKER_TMPDIR": str(self.directory / "tmp")}


class PodmanService(Engine):
    """Podman's API service with storage and configuration of its own."""

    name = "podman"

    def command(self) -> tuple[list[str], dict[str, str]]:
        settings = self.directory / "containers.conf"
        # runc: crun refuses hybrid cgroups. Explicit limits: the defaults ask for more than a
        # daemon inside of a container may give.
        settings.write_text(
            '[containers]\ndefault_ulimits = ["nofile=1024:4096", "nproc=4096:4096"]\n'
            'netns = "host"\n'
            '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n'
            f'tmp_dir = "{self.directory}/libpod"\n'
        )
        storage = self.directory / "storage.conf"
        storage.write_text(
            f'[storage]\ndriver = "{storage_driver(self.directory, "overlay")}"\n'
            f'graphroot = "{self.directory}/data"\nrunroot = "{self.directory}/run"\n'
        )
        podman = find("podman")
        assert podman is not None
        variables = {
            "CONTAINERS_CONF": str(settings),
            "CONTAINERS_STORAGE_CONF": str(storage),
            "XDG_RUNTIME_DIR": str(self.directory),
        }
        return [podman, "system", "service", "--time=0", self.url], variables


ENGINES: dict[str, type[Engine]] = {"docker": Dockerd, "podman": PodmanService}


def storage_driver(directory: Path, overlay: str) -> str:
    """``overlay`` where the folder's file system can carry overlays, else vfs."""
    parts = [directory / name for name in ("lower", "upper", "work", "merged")]
    for part in parts:
        part.mkdir()
    lower, upper, work, merged = parts
    options = f"lowerdir={lower},upperdir={upper},workdir={work}"
    command = ["mount", "-t", "overlay", "overlay", "-o", options, str(merged)]
    works = subprocess.run(command, check=False, capture_output=True).returncode == 0
    if works:
        subprocess.run(["umount", str(merged)], check=True)
    for part in parts:
        shutil.rmtree(part)
    return overlay if works else "vfs"


def processes_of(directory: Path) -> list[int]:
    """Processes with a folder of the engine on their command line, and all their descendants."""
    parents: dict[int, int] = {}
    found: set[int] = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(entry.name)] = int(
                (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[1]
            )
            if f"{directory}/".encode() in (entry / "cmdline").read_bytes():
                found.add(int(entry.name))
        except OSError:
            continue  # it ended meanwhile
    while more := {one for one, parent in parents.items() if parent in found} - found:
        found |= more
    return sorted(found - {os.getpid()})


def mounts_below(directory: Path) -> list[str]:
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return sorted((one for one in points if one.startswith(f"{directory}/")), reverse=True)


def _answers(path: Path) -> bool:
    import http.client
    import socket

    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(5)
            connection.connect(str(path))
            connection.sendall(b"GET /_ping HTTP/1.0\r\nHost: localhost\r\n\r\n")
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            return answer.status == 200
    except (OSError, http.client.HTTPException):
        return False
