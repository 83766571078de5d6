"""What a site wants of its nodes before a job uses a GPU: modules loaded, a scratch folder."""

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from assay.base.errors import MissingEnvironment
from assay.records.cluster import ClusterFile

LOAD_S = 120
LOAD = 'module load "$@" >&2 && exec env -0'


def prepare_node(cluster: ClusterFile) -> None:
    """Change this process's environment to what the site says. Raises MissingEnvironment."""
    if cluster.modules:
        os.environ.update(with_modules(cluster.modules))
    if cluster.scratch is not None:
        scratch = make_scratch(cluster.scratch)
        os.environ["TMPDIR"] = tempfile.tempdir = str(scratch)


def with_modules(modules: Sequence[str]) -> dict[str, str]:
    """Return the environment in which modules are loaded, as a login shell loads them."""
    try:
        loaded = subprocess.run(
            ["bash", "-lc", LOAD, "bash", *modules],
            capture_output=True, text=True, errors="surrogateescape", check=False, timeout=LOAD_S,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingEnvironment(f"modules cannot be loaded on this node: {error}") from error
    if loaded.returncode != 0:
        words = loaded.stderr.strip().partition("\n")[0]
        names = " ".join(modules)
        raise MissingEnvironment(f"module load {names} fails on this node: {words}")
    entries = (entry.partition("=") for entry in loaded.stdout.split("\0") if "=" in entry)
    return {name: value for name, _, value in entries}


def make_scratch(named: str) -> Path:
    """Return the folder, made if it is not there; its variables are those of the job."""
    path = os.path.expandvars(named)
    if "$" in path:
        raise MissingEnvironment(f"scratch: {named}: this job has no such variable")
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MissingEnvironment(
            f"scratch: {path} cannot be made on this node: {error.strerror}"
        ) from error
    return Path(path)
