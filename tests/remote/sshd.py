"""An sshd on loopback, with a home of its own, for the user who runs the tests.

Installs nothing. Keys, configuration, log and the home lie below a temporary directory; what runs
there finds the programs of ``bin`` first, and runs Assay by this Python and its packages.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

READY_S = 20.0
PRIVILEGES = Path("/run/sshd")
"""Where Debian's sshd of root wants an empty directory."""


def missing() -> str | None:
    """Why no sshd can be started here, as one sentence; None when one can."""
    absent = [name for name in ("ssh", "ssh-keygen", "sshd", "rsync") if _find(name) is None]
    if absent:
        packages = "openssh-server openssh-client rsync"
        return f"{', '.join(absent)} not installed (apt-get install {packages})"
    return None


@dataclass
class LoopbackMachine:
    """The machine: its sshd runs from entry to exit."""

    folder: Path
    port: int = 0
    process: "subprocess.Popen[bytes] | None" = None
    variables: dict[str, str] = field(default_factory=dict)
    """Further variables of what runs there."""

    @property
    def home(self) -> Path:
        """Return the home of the account there, in which commands start."""
        return self.folder / "home"

    @property
    def programs(self) -> Path:
        """Return the folder of programs that are found there first."""
        return self.folder / "bin"

    @property
    def ways(self) -> Path:
        """Return a folder whose ``ssh`` reaches it: that goes by a configuration of its own, for no
        variable moves the one that a user has.
        """
        return self.folder / "ways"

    def _describe_ways(self) -> None:
        self.ways.mkdir()
        (self.ways / "config").write_text(f"""\
Port {self.port}
IdentityFile "{self.folder / "user_key"}"
IdentitiesOnly yes
UserKnownHostsFile "{self.folder / "known_hosts"}"
GlobalKnownHostsFile /dev/null
StrictHostKeyChecking yes
""")
        ssh = self.ways / "ssh"
        ssh.write_text(f'#!/bin/sh\nexec {_find("ssh")} -F "{self.ways}/config" "$@"\n')
        ssh.chmod(0o755)

    def __enter__(self) -> "LoopbackMachine":
        for place in (self.folder, self.home, self.programs):
            place.mkdir(parents=True, exist_ok=True)
        for name in ("user_key", "host_key"):
            subprocess.run(
                [_find("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name],
                check=True,
            )
        (self.folder / "authorized_keys").write_bytes((self.folder / "user_key.pub").read_bytes())
        # sshd starts commands in the account's home, which no variable moves: a shell goes there.
        shell = self.folder / "shell"
        shell.write_text(f'#!/bin/sh\ncd {self.home}\nexec /bin/sh -c "$SSH_ORIGINAL_COMMAND"\n')
        shell.chmod(0o755)
        self.install("nvidia-smi", "echo 'NVIDIA H100 80GB HBM3'")
        self.start()
        return self

    def start(self) -> None:
        if os.geteuid() == 0:
            PRIVILEGES.mkdir(mode=0o755, exist_ok=True)
        self.port = self.port or _free_port()
        key = (self.folder / "host_key.pub").read_text()
        (self.folder / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {key}")
        (self.folder / "sshd_config").write_text(self._config())
        if not self.ways.exists():  # its ssh is the first of PATH by the time of another start
            self._describe_ways()
        sshd = _find("sshd")
        assert sshd is not None
        self.process = subprocess.Popen(
            [sshd, "-D", "-f", self.folder / "sshd_config", "-E", self.folder / "log"],
            start_new_session=True,
        )
        limit = time.monotonic() + READY_S
        while not _answers(self.port):
            assert self.process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < limit
            time.sleep(0.05)

    def _config(self) -> str:
        own = Path(sys.executable).parent
        variables = {
            "HOME": str(self.home),
            "PATH": f"{self.programs}:{own}:{os.defpath}",
            "ASSAY_NO_VENV": "1",
            "ASSAY_PYTHON": sys.executable,
            **self.variables,
        }
        told = " ".join(f'"{name}={value}"' for name, value in variables.items())
        return f"""\
ListenAddress 127.0.0.1
Port {self.port}
HostKey {self.folder / "host_key"}
PidFile none
AuthorizedKeysFile {self.folder / "authorized_keys"}
PasswordAuthentication no
KbdInteractiveAuthentication no
StrictModes no
UsePAM no
ForceCommand {self.folder / "shell"}
SetEnv {told}
"""

    def cut(self) -> None:
        """End all connections, and the sshd with them; what runs there without one goes on."""
        assert self.process is not None
        for pid in _children(self.process.pid):
            for each in (pid, *_children(pid)):
                if _name(each) == "sshd":
                    os.kill(each, signal.SIGKILL)
        self.process.kill()
        self.process.wait()

    def install(self, name: str, script: str) -> None:
        program = self.programs / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    def __exit__(self, *_: object) -> None:
        assert self.process is not None
        if self.process.poll() is None:
            self.cut()


def _find(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _answers(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []  # it has just ended


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""  # it has just ended
