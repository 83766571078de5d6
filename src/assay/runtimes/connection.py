"""Reaching an engine: Docker's daemon, or Podman's service, which speaks the same language."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import docker
import docker.errors
import requests.exceptions

from assay.base.errors import BadInput, MissingEnvironment
from assay.runtimes.base import RuntimeAbsent

ASK_S = 60
"""Seconds an engine may take over one answer; waiting for a container's end has no limit."""
ARCHITECTURES = ("amd64", "x86_64")

_START = {
    "docker": "start it (systemctl start docker) or set DOCKER_HOST",
    "podman": "start it (podman system service --time=0, or systemctl --user start podman.socket) "
    "or set CONTAINER_HOST",
}
_PROGRAM = {"docker": "the Docker daemon", "podman": "Podman's service"}


def connect(name: str) -> docker.DockerClient:
    """Return a client of the engine ``name``, docker or podman, that has answered.

    Docker is looked for at DOCKER_HOST or the default socket, Podman at CONTAINER_HOST, the user's
    socket, or the system's. Raises MissingEnvironment with one sentence when none listens, when
    this user may not talk to it, and when it runs another architecture; BadInput for another name.
    """
    if name not in _START:
        raise BadInput(f"'{name}' is no container engine; known: docker, podman")
    url = address(name)
    _knock(name, url)
    try:
        client = _client(name, url)
        architecture = client.version().get("Arch", "")
    except (
        docker.errors.DockerException,
        requests.exceptions.RequestException,
        ValueError,  # an address that is none
        AttributeError,  # an answer that is no object
    ) as error:
        raise MissingEnvironment(
            f"{_PROGRAM[name]} at {url} does not answer ({reason(error)}); {_START[name]}"
        ) from error
    if architecture not in ARCHITECTURES:
        client.close()
        raise MissingEnvironment(
            f"{_PROGRAM[name]} at {url} runs {architecture or 'an unknown architecture'}, "
            "and the images are amd64; use a machine with an x86-64 processor"
        )
    return client


def is_podman(version: Mapping[str, Any]) -> bool:
    """Return whether an engine's answer about its version is Podman's."""
    return "Podman Engine" in {part.get("Name") for part in version.get("Components") or ()}


def product(version: Mapping[str, Any]) -> str:
    """Return an engine by its own account, as one phrase: "Docker Engine 26.1.5"."""
    name = "Podman" if is_podman(version) else "Docker Engine"
    return f"{name} {version.get('Version', 'of unknown version')}"


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


def _client(name: str, url: str) -> docker.DockerClient:
    if name == "docker" and os.environ.get("DOCKER_HOST"):
        return docker.from_env(version="auto", timeout=ASK_S)  # reads the TLS variables too
    return docker.DockerClient(base_url=url, version="auto", timeout=ASK_S)


def _knock(name: str, url: str) -> None:
    """Tell the ways in which a local socket is closed apart."""
    scheme, _, path = url.partition("://")
    if scheme != "unix":
        return
    if not os.path.lexists(path):
        raise RuntimeAbsent(
            f"{_PROGRAM[name]} is not running: there is no {path}; {_START[name]}", "not running"
        )
    if not os.access(path, os.W_OK):
        group = "join the group docker" if name == "docker" else "start one of your own"
        raise MissingEnvironment(
            f"this user may not use {_PROGRAM[name]} at {path}; {group}, or use another runtime"
        )


def reason(error: BaseException) -> str:
    """Return the gist of an engine's error on one line."""
    text = getattr(error, "explanation", None) or error
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    return " ".join(str(text).split())[:300]
