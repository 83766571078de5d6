"""The work of a container engine on images: build, export, load, look inside, clean up."""

import contextlib
import json
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import docker
import docker.errors
import requests

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.base.progress import say, ticking
from assay.images.disk import CHUNK, TICK_S, chunks_of, working
from assay.runtimes import owners
from assay.runtimes.base import Task, disk_is_full
from assay.runtimes.engine import EngineRuntime, FoundImage, image_digest

PATIENCE_S = 3600
"""How long an engine may be silent: installing gigabytes prints nothing."""
STEP = re.compile(r"^\s*---> ([0-9a-f]{12,64})\s*$", re.M)
RAN = re.compile(r"^Step \d+/\d+ : (\S.*)$", re.M)


@contextmanager
def asking(client: docker.DockerClient, doing: str) -> Iterator[None]:
    """Be patient with the engine, and say its errors in one sentence.

    Raises MissingEnvironment.
    """
    before = client.api.timeout
    client.api.timeout = PATIENCE_S
    try:
        yield
    except (docker.errors.DockerException, requests.RequestException) as error:
        reason = " ".join(str(error).split())[:300]
        raise MissingEnvironment(
            f"the container engine's disk is full while {doing}: free some space there, start again"
            if disk_is_full(str(error))
            else f"the container engine failed while {doing}: {reason}"
        ) from error
    finally:
        client.api.timeout = before


def import_stream(
    client: docker.DockerClient, chunks: Iterator[bytes], changes: Sequence[str] = ()
) -> str:
    """Import a tar archive as an image under a name that nobody else uses; returns its id.

    ``changes`` are instructions of a Dockerfile. What was begun is removed on failure.
    """
    # Podman's service drops the tag of an import, so the repository is what tells imports apart.
    repository = f"assay/import-{secrets.token_hex(8)}"
    name = f"{repository}:latest"
    try:
        with asking(client, "importing a file system"):
            _raise_error(
                client.api.import_image(
                    src=chunks,
                    repository=repository,
                    tag="latest",
                    changes=list(changes),
                    stream_src=True,
                )
            )
            return image_id(client, name)
    except BaseException:
        remove_images(client, [name])
        raise


def tag(client: docker.DockerClient, image: str, name: str) -> None:
    """Give an image a name and take its others away."""
    repository, _, version = name.rpartition(":")
    with asking(client, "naming an image"):
        old = client.api.inspect_image(image).get("RepoTags") or ()
        client.api.tag(image, repository, version)
        for other in old:
            if not other.endswith(name):
                client.api.remove_image(other)


def build(
    client: docker.DockerClient, context: Iterator[bytes], base: str
) -> tuple[str, list[str]]:
    """Build the Dockerfile in ``context`` without a network.

    Returns the image's id and the ids of all images made on the way, which are left to the caller
    to remove; on failure they are removed here. Raises MissingEnvironment with the last lines.
    """
    name = f"assay/build:{secrets.token_hex(8)}"
    made: list[str] = []
    try:
        with asking(client, "building an image"):
            stream = client.api.build(
                fileobj=context,
                custom_context=True,
                tag=name,
                buildargs={"BASE": base},
                network_mode="none",
                nocache=True,
                rm=True,
                forcerm=True,
                decode=True,
            )
            with (
                contextlib.closing(stream),  # an engine ends a build that nobody follows
                ticking(TICK_S, lambda: ", building"),
            ):
                for message in stream:
                    if "error" in message:
                        raise docker.errors.BuildError(str(message["error"]), [])
                    text = str(message.get("stream", ""))
                    made += STEP.findall(text)
                    for step in RAN.findall(text):
                        say(f"  {' '.join(step.split())[:78]}")
            return image_id(client, name), made
    except BaseException:
        remove_images(client, [name, *reversed(made)])
        raise


def export(client: docker.DockerClient, image: str, output: Path) -> None:
    """Write the file system of a container of ``image`` as a tar archive. The container goes."""
    with asking(client, "exporting an image"):
        labels = {owners.LABEL: owners.myself()}  # a later start removes it if this one is killed
        container = client.api.create_container(image, command=["true"], labels=labels)["Id"]
        try:
            with working(), output.open("wb") as stream:
                stream.writelines(client.api.export(container, chunk_size=CHUNK))
        finally:
            client.api.remove_container(container, force=True, v=True)


def load(client: docker.DockerClient, archive: Path) -> None:
    """Load an archive of ours."""
    with asking(client, "loading an image"), working():
        for message in client.api.load_image(chunks_of(archive)) or ():
            _raise_error(json.dumps(message))


def names_by_manifest(client: docker.DockerClient) -> bool:
    """Return whether the engine keeps images in containerd, where an id is a manifest's digest."""
    with asking(client, "asking for its storage"):
        status = client.info().get("DriverStatus") or ()
    return any("io.containerd.snapshotter" in str(entry) for entry in status)


def image_id(client: docker.DockerClient, name: str) -> str:
    """Return the id an engine gives to what ``name`` stands for. Raises
    docker.errors.ImageNotFound.
    """
    return image_digest(client.api.inspect_image(name)["Id"])


def inspect(client: docker.DockerClient, name: str) -> dict[str, Any] | None:
    """Return what the engine says of an image; None when it has none of that name."""
    with asking(client, "looking for an image"):
        try:
            found: dict[str, Any] = client.api.inspect_image(name)
        except docker.errors.ImageNotFound:
            return None
    found["Id"] = image_digest(found["Id"])
    return found


def read_inside(
    client: docker.DockerClient, image: str, code: str, python: str = "python3"
) -> list[str]:
    """Return the lines that ``python -c code`` prints in a container without a network.

    Raises CheckFailed when it fails there.
    """
    with asking(client, "looking into an image"):
        found = FoundImage(image_id(client, image))
    lines: list[str] = []
    task = Task((python, "-c", code), Path("/"), "look into an image")
    outcome = EngineRuntime("docker", client).run(task, found, lines.append)
    if outcome.exit_code != 0:
        last = lines[-1] if lines else "nothing said"
        raise CheckFailed(f"{python} in the image ended with {outcome.exit_code}: {last}")
    return lines


def remove_images(client: docker.DockerClient, names: list[str]) -> None:
    """Remove images and what hangs on them alone; what is gone or still in use stays."""
    for name in names:
        with contextlib.suppress(docker.errors.DockerException, requests.RequestException):
            client.api.remove_image(name, force=True)


def _raise_error(answer: str) -> None:
    """Engines report what fails late as a JSON line in an answer that began well."""
    for line in answer.splitlines():
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if isinstance(message, dict) and message.get("error"):
            raise docker.errors.APIError(str(message["error"]))
