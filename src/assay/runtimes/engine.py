"""Docker and Podman as runtimes, both through the Docker SDK."""

import codecs
import secrets
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import docker
import docker.errors
import requests.exceptions
import urllib3.exceptions

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.base.progress import say
from assay.records.images import EngineName, ImageRecord, RuntimeName
from assay.runtimes import owners
from assay.runtimes.base import CommandOutcome, Task, disk_is_full
from assay.runtimes.connection import is_podman, product, reason
from assay.runtimes.gpu_access import Access, find_access
from assay.runtimes.settings import NO_MEMORY, NOT_FOUND, settings_of

NO_COMMAND = 127
"""A shell's exit code for a command that there is none of."""

_GONE = (
    docker.errors.DockerException,
    requests.exceptions.RequestException,
    urllib3.exceptions.HTTPError,
    OSError,
)
"""What the SDK raises when the engine refuses, or is not there any more."""


@dataclass(frozen=True)
class FoundImage:
    """An image that an engine holds."""

    image_id: str


class EngineRuntime:
    """Runs commands in containers of one engine."""

    def __init__(self, name: EngineName, client: docker.DockerClient) -> None:
        """Ask the engine what it is, and remove what earlier callers left when they were killed."""
        self.name: RuntimeName = name
        self.client = client
        try:
            self.info: Mapping[str, Any] = client.info()
            version = client.version()
            reap(client)
        except _GONE as error:
            raise MissingEnvironment(f"{name} does not answer: {reason(error)}") from error
        self.is_podman = is_podman(version)
        self._described = product(version)
        self._access: Access | None = None

    def describe(self) -> str:
        """Return the engine with its version."""
        return self._described

    def gpu_access(self) -> Access:
        """Return how its containers get the GPUs. Raises MissingEnvironment when they cannot."""
        if self._access is None:
            self._access = find_access(self.info, is_podman=self.is_podman)
        return self._access

    def run(
        self, task: Task, image: ImageRecord | FoundImage | None, on_line: Callable[[str], None]
    ) -> CommandOutcome:
        """Run ``task`` in a new container of ``image`` and remove the container, come what may.

        Signals as well, in a process that began with ``progress.leave_on_signals``; what one leaves
        behind that is killed outright, the next removes.
        Raises CheckFailed when the engine took another image than the one asked for.
        """
        if image is None:
            raise ValueError("an engine runs images only")
        for bind in task.binds:
            if not bind.path.exists():  # Podman would make a folder there
                raise MissingEnvironment(f"cannot start {task.label}: there is no {bind.path}")
        access = self.gpu_access() if task.gpu else Access(how="none")
        settings = settings_of(task, image.image_id, self.info, access, is_podman=self.is_podman)
        # The name is ours, so the container can be removed even when creation is interrupted.
        name = f"assay-{secrets.token_hex(8)}"
        try:
            return self._run(name, settings, task, image.image_id, on_line)
        finally:
            self._remove(name)

    def _run(
        self,
        name: str,
        settings: dict[str, Any],
        task: Task,
        image_id: str,
        on_line: Callable[[str], None],
    ) -> CommandOutcome:
        api = self.client.api
        try:
            container = api.create_container_from_config(settings, name)["Id"]
            found = image_digest(api.inspect_container(container)["Image"])
            if found != image_id:
                raise CheckFailed(f"{self._described} took image {found} instead of {image_id}")
            # Before the start, so that not a byte is missed: the engine keeps no log.
            stream = api.attach(container, stdout=True, stderr=True, stream=True, demux=False)
            api.start(container)
        except docker.errors.ImageNotFound as error:
            raise MissingEnvironment(
                f"{self._described} has no image {image_id}; build it with ./assay lab image"
            ) from error
        except _GONE as error:
            raise MissingEnvironment(self._refusal(task, error)) from error
        last = ""
        try:
            for last in lines(self._pieces(stream, task)):
                on_line(last)
        finally:
            stream.close()
        try:
            api.wait(container, timeout=None)
            state = api.inspect_container(container)["State"]
        except _GONE as error:
            raise MissingEnvironment(self._lost(task, error)) from error
        code = exit_code(state["ExitCode"])
        if code == NO_COMMAND and last == NOT_FOUND:
            raise MissingEnvironment(f"{image_id[:19]} has no command {task.command[0]}")
        killed = bool(state.get("OOMKilled")) or last.endswith(NO_MEMORY)
        return CommandOutcome(code, found, out_of_memory=killed and code != 0)

    def _pieces(self, stream: Any, task: Task) -> Iterator[bytes]:
        """Yield the attached stream, with only its own errors taken for the engine's."""
        while True:
            try:
                piece = next(stream, None)
            except _GONE as error:
                raise MissingEnvironment(self._lost(task, error)) from error
            if piece is None:
                return
            yield piece

    def _refusal(self, task: Task, error: BaseException) -> str:
        """Return why a container did not start, as one sentence."""
        text = reason(error)
        if disk_is_full(text):
            return f"the disk of {self._described} is full; free some space and run again"
        return f"{self._described} cannot start {task.label} ({task.command[0]}): {text}"

    def _lost(self, task: Task, error: BaseException) -> str:
        return f"{self._described} stopped answering while {task.label} ran: {reason(error)}"

    def _remove(self, name: str) -> None:
        """Take a container away; an engine that is gone is told of and not raised over."""
        try:
            remove(self.client, name)
        except _GONE as error:
            say(f"{self._described} did not remove container {name}: {reason(error)}")


def lines(pieces: Iterable[bytes]) -> Iterator[str]:
    """Yield lines of a stream of UTF-8, without their ends, as soon as each is whole.

    Pieces end anywhere, inside of a character too. What is no UTF-8 becomes U+FFFD. A last line
    without an end counts.
    """
    rest = ""
    for text in codecs.iterdecode(pieces, "utf-8", "replace"):
        *whole, rest = (rest + text).split("\n")
        for line in whole:
            yield line.removesuffix("\r")
    if rest:
        yield rest


def find_image(client: docker.DockerClient, reference: str) -> FoundImage:
    """Return the image of a digest; one with a name is pulled where the engine lacks it.

    ``reference``: NAME@sha256:DIGEST, or the id that an engine gave it, sha256:ID. A digest names
    the bytes, whoever sends them. Raises MissingEnvironment where it cannot be had.
    """
    try:
        try:
            image = client.images.get(reference)
        except docker.errors.ImageNotFound:
            if "@" not in reference:
                raise
            say(f"pulling {reference}")
            image = client.images.pull(reference)
    except _GONE as error:
        raise MissingEnvironment(f"image {reference} cannot be had: {reason(error)}") from error
    return FoundImage(image_digest(str(image.id)))


def exit_code(code: int) -> int:
    """Negative signal number for 128 + n, which is how engines tell of a signal."""
    number = code - 128
    return -number if number in {one.value for one in signal.Signals} else code


def remove(client: docker.DockerClient, container: str) -> None:
    """Kill and remove a container; one that is gone, or going, is as good."""
    with suppress(docker.errors.APIError):  # it may not run at all; removal settles the rest
        client.api.kill(container)
    try:
        client.api.remove_container(container, v=True, force=True)
    except docker.errors.APIError as error:
        if error.status_code not in (404, 409):
            raise


def reap(client: docker.DockerClient) -> list[str]:
    """Remove containers whose caller was killed before it could; their names."""
    removed = []
    for one in client.api.containers(all=True, filters={"label": owners.LABEL}):
        if owners.is_gone(one["Labels"].get(owners.LABEL, "")):
            remove(client, one["Id"])
            removed.append(one["Names"][0].removeprefix("/"))
    return removed


def image_digest(text: str) -> str:
    """Return an image's id as Docker writes it; Podman leaves the algorithm out in places."""
    return text if text.startswith("sha256:") else f"sha256:{text}"
