"""Docker and Podman as runtimes, by their command lines, which take the same words."""

import json
import os
import secrets
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from assay.base.errors import MissingEnvironment
from assay.base.progress import say
from assay.base.writable import disk_is_full
from assay.records.images import EngineName, ImageRecord, RuntimeName
from assay.runtimes import owners
from assay.runtimes.base import CommandOutcome, RuntimeAbsent, Task, caller
from assay.runtimes.containers import (
    PIDS,
    SHARED_MEMORY,
    SHELL,
    memory_limit,
    one_line,
    outcome_of,
    streamed,
    ulimits,
)
from assay.runtimes.gpu_access import Access, find_access
from assay.shared.processes import tied_to_parent

ARCHITECTURES = ("amd64", "x86_64")
NEVER_BEGAN = ("created", "configured", "initialized")
"""States of a container that did not start."""
TMPFS = "/tmp:rw,exec,nosuid,nodev,mode=1777"  # noqa: S108 - inside of the container
LIBRARY_PATH = "LD_LIBRARY_PATH"
_CALLED = {"docker": "the Docker daemon", "podman": "Podman's service"}
_START = {
    "docker": "start it (systemctl start docker) or set DOCKER_HOST",
    "podman": "start it (podman system service --time=0, or systemctl --user start podman.socket) "
    "or set CONTAINER_HOST",
}
_OWNER = {
    "docker": f'{{{{.Label "{owners.LABEL}"}}}}',
    "podman": f'{{{{index .Labels "{owners.LABEL}"}}}}',
}
"""How each names the label of a container in a list."""


class EngineFailed(MissingEnvironment):
    """An engine refused, or did not answer; ``says`` are its own words."""

    def __init__(self, sentence: str, says: str) -> None:
        super().__init__(sentence)
        self.says = says


@dataclass(frozen=True)
class FoundImage:
    """An image that an engine holds."""

    image_id: str


class EngineRuntime:
    """Runs commands in containers of one engine."""

    def __init__(self, name: EngineName) -> None:
        """Ask the engine what it is, and remove what earlier callers left when they were killed.

        Docker is looked for where its command line looks, Podman's service at CONTAINER_HOST, the
        user's socket, or the system's. Raises MissingEnvironment with one sentence where none
        listens, this user may not talk to it, or it runs another architecture.
        """
        self.name: RuntimeName = name
        self._variables = {
            **os.environ,
            **({} if name == "docker" else {"CONTAINER_HOST": address(name)}),
        }
        self._described: str = name
        if shutil.which(name) is None:
            raise RuntimeAbsent(f"{name} is not installed: there is none on PATH", "not installed")
        self.info = self._ask_info(name)
        host = self.info.get("host") or {}
        version = (self.info.get("version") or {}).get("Version") or self.info.get("ServerVersion")
        self._described = f"{'Docker Engine' if name == 'docker' else 'Podman'} {version}"
        architecture = host.get("arch") or self.info.get("Architecture")
        if architecture not in ARCHITECTURES:
            raise MissingEnvironment(
                f"{_CALLED[name]} runs {architecture or 'an unknown architecture'}, and the images "
                "are amd64; use a machine with an x86-64 processor"
            )
        self._access: Access | None = None
        self.reap()

    def _ask_info(self, name: EngineName) -> dict[str, Any]:
        says = ""
        try:
            info = json.loads(self.ask("info", "--format", "{{json .}}"))
            if "version" in info or info.get("ServerVersion"):
                return dict(info)
            says = one_line(" ".join(info.get("ServerErrors") or ()))
        except EngineFailed as error:
            says = error.says
        except ValueError:
            says = "its answer cannot be read"
        url = address(name)
        scheme, _, path = url.partition("://")
        if "permission denied" in says.lower():
            group = "join the group docker" if name == "docker" else "start one of your own"
            raise MissingEnvironment(
                f"this user may not use {_CALLED[name]} at {path}; {group}, or use another runtime"
            )
        if scheme == "unix" and not os.path.lexists(path):
            sentence = f"{_CALLED[name]} is not running: there is no {path}; {_START[name]}"
            raise RuntimeAbsent(sentence, "not running")
        raise MissingEnvironment(
            f"{_CALLED[name]} at {url} does not answer ({says}); {_START[name]}"
        )

    def describe(self) -> str:
        """Return the engine with its version, as one phrase: "Docker Engine 26.1.5"."""
        return self._described

    def gpu_access(self) -> Access:
        """Return how its containers get the GPUs. Raises MissingEnvironment when they cannot."""
        if self._access is None:
            self._access = find_access(self.info, is_podman=self.name == "podman")
        return self._access

    def ask(self, *words: str, doing: str = "", given: IO[bytes] | None = None) -> str:
        """Return what the engine prints, ``given`` its input. Raises EngineFailed on ``doing``."""
        done = subprocess.run(
            [self.name, *words],
            env=self._variables,
            stdin=given or subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            start_new_session=True,
            preexec_fn=tied_to_parent(),
        )
        if done.returncode != 0:
            says = one_line(done.stderr)
            raise EngineFailed(
                f"the disk of {self._described} is full while {doing}: free some space there, and "
                "start again"
                if disk_is_full(done.stderr)
                else f"{self._described} failed while {doing}: {says}",
                says,
            )
        return done.stdout

    def image(self, name: str) -> dict[str, Any] | None:
        """Return what the engine says of an image; None when it has none of that name."""
        try:
            (found,) = json.loads(self.ask("image", "inspect", name, doing="looking for an image"))
        except EngineFailed as error:
            if "no such image" in error.says.lower() or "image not known" in error.says:
                return None
            raise
        # Podman leaves the algorithm out in places.
        return {**found, "Id": f"sha256:{found['Id'].removeprefix('sha256:')}"}

    def find_image(self, reference: str) -> FoundImage:
        """Return the image NAME@sha256:DIGEST, pulled if need be, or sha256:ID as the engine names
        one. Raises MissingEnvironment where it cannot be had.
        """
        try:
            if (found := self.image(reference)) is None and "@" in reference:
                say(f"pulling {reference}")
                self.ask("pull", "--quiet", reference, doing="pulling an image")
                found = self.image(reference)
        except EngineFailed as error:
            raise MissingEnvironment(f"image {reference} cannot be had: {error.says}") from error
        if found is None:
            raise MissingEnvironment(f"image {reference} cannot be had: {self.name} has none")
        return FoundImage(found["Id"])

    def remove_image(self, name: str) -> None:
        """Remove an image; what is gone or still in use stays."""
        try:
            self.ask("image", "rm", "--force", name, doing="removing an image")
        except EngineFailed as error:
            say(f"{name} stays in {self._described}: {error.says}")

    def run(
        self, task: Task, image: ImageRecord | FoundImage | None, on_line: Callable[[str], None]
    ) -> CommandOutcome:
        """Run ``task`` in a new container and remove that, come what may, signals included (see
        ``leave_on_signals``); what a kill leaves behind the next one removes.
        """
        assert image is not None
        for bind in task.binds:
            if not bind.path.exists():  # engines would make a folder there
                raise MissingEnvironment(f"cannot start {task.label}: there is no {bind.path}")
        access = self.gpu_access() if task.gpu else Access(how="none")
        # The name is ours, so the container can be removed even when creation is interrupted.
        name = f"assay-{secrets.token_hex(8)}"
        starting = f"starting {task.label} ({task.command[0]})"
        try:
            self.ask(*self.creation(name, task, image.image_id, access), doing=starting)
            command = [self.name, "start", "--attach", name]
            _, last, says = streamed(command, self._variables, on_line)
            state = self._state(name, task, says)
            if state["Status"] in NEVER_BEGAN:
                raise MissingEnvironment(
                    f"{self._described} failed while {starting}: {one_line(says)}"
                )
        finally:
            self._remove(name)
        killed = bool(state.get("OOMKilled"))
        return outcome_of(task, image.image_id, state["ExitCode"], last, out_of_memory=killed)

    def creation(self, name: str, task: Task, image_id: str, access: Access) -> list[str]:
        """Return the words that create a container: no network, no rights, and limits."""
        user, namespace = user_of(self.info)
        memory = str(memory_limit())
        words = [
            "create", "--name", name, "--pull", "never", "--network", "none", "--read-only",
            "--tmpfs", TMPFS, "--cap-drop", "ALL",
            # Labels off: SELinux would hide the binds from the container otherwise.
            "--security-opt", "no-new-privileges", "--security-opt", "label=disable",
            "--pids-limit", str(PIDS), "--shm-size", str(SHARED_MEMORY), "--log-driver", "none",
            "--memory", memory, "--memory-swap", memory, "--user", user,
            "--workdir", str(task.directory), "--label", f"{owners.LABEL}={owners.myself()}",
            "--label", f"assay.task={task.label}", "--entrypoint", SHELL[0], *access.words,
        ]  # fmt: skip
        if task.counters:
            # Where the driver restricts its counters it asks for this; a user who is not root
            # gains nothing by it.
            words += ["--cap-add", "SYS_ADMIN"]
        if namespace:
            words += ["--userns", namespace]
        for kind, limit in ulimits(is_podman=self.name == "podman").items():
            words += ["--ulimit", f"{kind}={limit}"]
        for key, value in environment_of(task, access).items():
            words += ["--env", f"{key}={value}"]
        for bind in task.binds:
            if ":" in str(bind.path):
                raise MissingEnvironment(f"{bind.path}: no engine mounts a path with a colon")
            words += ["--volume", f"{bind.path}:{bind.path}{'' if bind.writable else ':ro'}"]
        return [*words, image_id.removeprefix("sha256:"), *SHELL[1:], *task.command]

    def _state(self, name: str, task: Task, says: str) -> dict[str, Any]:
        """Return a container's state once it ended. Raises MissingEnvironment without an engine."""
        try:
            (found,) = json.loads(self.ask("container", "inspect", name))
            if found["State"]["Status"] not in (*NEVER_BEGAN, "exited", "dead"):
                self.ask("wait", name)
                (found,) = json.loads(self.ask("container", "inspect", name))
        except EngineFailed as error:
            raise MissingEnvironment(
                f"{self._described} stopped answering while {task.label} ran: "
                f"{one_line(says) or error.says}"
            ) from error
        return dict(found["State"])

    def _remove(self, name: str) -> None:
        """Take a container away; an engine that is gone is told of and not raised over."""
        for words in (("kill", name), ("rm", "--force", "--volumes", name)):
            try:
                self.ask(*words)
            except EngineFailed as error:
                gone = "no such container" in error.says.lower() or "in progress" in error.says
                if words[0] == "rm" and not gone:
                    say(f"{self._described} did not remove container {name}: {error.says}")

    def reap(self) -> list[str]:
        """Remove containers whose caller was killed before it could; their names."""
        words = ("ps", "--all", "--filter", f"label={owners.LABEL}", "--format")
        listed = self.ask(*words, f"{{{{.Names}}}} {_OWNER[self.name]}", doing="listing containers")
        removed = []
        for line in listed.splitlines():
            name, _, owner = line.partition(" ")
            if owners.is_gone(owner):
                self._remove(name)
                removed.append(name)
        return removed


def address(name: str) -> str:
    """URL at which an engine is looked for."""
    if name == "docker":
        return os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    if url := os.environ.get("CONTAINER_HOST"):
        return url
    system = Path("/run/podman/podman.sock")
    folder = os.environ.get("XDG_RUNTIME_DIR")
    own = Path(folder) / "podman" / "podman.sock" if folder else system
    return f"unix://{own if own.exists() or not system.exists() else system}"


def environment_of(task: Task, access: Access) -> dict[str, str]:
    """Return a container's variables: HOME in its own /tmp, the GPUs', the task's before those."""
    merged = {"HOME": "/tmp", **access.environment, **task.environment}  # noqa: S108 - its own
    folders = [one.get(LIBRARY_PATH) for one in (task.environment, access.environment)]
    if present := [folder for folder in folders if folder]:
        merged[LIBRARY_PATH] = ":".join(present)
    return merged


def user_of(info: Mapping[str, Any]) -> tuple[str, str | None]:
    """User and group inside, and the user namespace, that are the caller's outside."""
    if host := info.get("host"):  # Podman's
        return caller(), "keep-id" if (host.get("security") or {}).get("rootless") else None
    options = {str(one).split(",")[0] for one in info.get("SecurityOptions") or ()}
    if "name=rootless" in options:
        return "0:0", None  # root of a rootless Docker is its owner
    return caller(), "host" if "name=userns" in options else None
