"""An image that a project names by digest, in which its commands run."""

from dataclasses import dataclass

import docker
import docker.errors
import requests.exceptions

from assay.base.errors import MissingEnvironment
from assay.base.progress import say
from assay.runtimes.connection import reason


@dataclass(frozen=True)
class FoundImage:
    """An image that an engine holds."""

    image_id: str


def starts_none(runtime: str, reference: str) -> str:
    """Return that a runtime which is no engine starts no image that a command names."""
    return (
        f"it runs in image {reference}, and --runtime {runtime} starts none by its digest: "
        "--runtime docker or podman does"
    )


def find_image(client: docker.DockerClient, reference: str) -> FoundImage:
    """Return the image of a digest; one with a name is pulled where the engine lacks it.

    ``reference``: NAME@sha256:DIGEST, or the id that an engine gave it, sha256:ID. A digest names
    the bytes, whoever sends them. Raises MissingEnvironment where it cannot be had.
    """
    try:
        try:
            image = client.images.get(reference)
        except docker.errors.ImageNotFound:
            name, at, digest = reference.partition("@")
            if not at:
                raise
            say(f"pulling {reference}")
            image = client.images.pull(f"{name}@{digest}")
    except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
        raise MissingEnvironment(f"image {reference} cannot be had: {reason(error)}") from error
    found = str(image.id)
    return FoundImage(found if found.startswith("sha256:") else f"sha256:{found}")
