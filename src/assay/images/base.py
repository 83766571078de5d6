"""The base of an image: Debian by mmdebstrap, the same bytes each time."""

import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path

from assay.base.errors import MissingEnvironment
from assay.base.pip_locks import tail
from assay.base.progress import exclusive, quote, say, watch
from assay.images.disk import TICK_S, partial
from assay.images.layer import FORMAT as LAYER_FORMAT
from assay.images.layer import normalise
from assay.records.images import BaseInputs
from assay.runtimes.base import disk_is_full
from assay.shared.files import sha256_bytes, sha256_file

FORMAT = 1
"""Counts changes of this module that change the base's bytes."""
MIRROR_VARIABLE = "ASSAY_DEBIAN_MIRROR"
UNREAD = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*")
KEPT = ("/usr/share/doc/*/copyright",)
CLEANED = (
    # where it came from must not show: another mirror carries the same packages
    "etc/apt/sources.list",
    "etc/apt/sources.list.d/0000main.sources",
    "etc/apt/sources.list.d/0000main.list",
    "etc/apt/apt.conf.d/99mmdebstrap",
)
PASSED_ON = re.compile(r"Acquire::(https?::|Check-|Retries|ForceIPv4|ForceIPv6)")


def base_definition(inputs: BaseInputs, packages: tuple[str, ...]) -> str:
    """Digest of all that decides on the base's content, but for the mirror's state."""
    parts = (
        FORMAT,
        LAYER_FORMAT,
        inputs.suite,
        inputs.component,
        inputs.source_date_epoch,
        sorted(packages),
        UNREAD,
        KEPT,
    )
    return sha256_bytes(repr(parts).encode())


def ensure_base(
    folder: Path, inputs: BaseInputs, packages: tuple[str, ...], environ: Mapping[str, str]
) -> tuple[Path, str]:
    """Archive of the base and its SHA-256, made unless ``folder`` holds it.

    Raises MissingEnvironment when it cannot be made, OSError.
    """
    path = folder / f"base-{base_definition(inputs, packages)[:16]}.tar"
    folder.mkdir(parents=True, exist_ok=True)
    with exclusive(path.with_suffix(".lock"), "another process makes the base; waiting for it"):
        if not path.is_file():
            make_base(path, inputs, packages, environ)
        return path, sha256_file(path)


def make_base(
    path: Path, inputs: BaseInputs, packages: tuple[str, ...], environ: Mapping[str, str]
) -> None:
    """Run mmdebstrap into ``path``, which is whole or absent. Raises MissingEnvironment."""
    if shutil.which("mmdebstrap") is None:
        raise MissingEnvironment(
            "the base image is made by mmdebstrap, which is not installed "
            "(apt-get install mmdebstrap)"
        )
    source = debian_source(inputs, environ)
    log, raw = path.with_suffix(".log"), path.with_suffix(".raw")
    command = mmdebstrap(raw, inputs, packages, source)
    epoch = inputs.source_date_epoch
    environment = {**environ, "SOURCE_DATE_EPOCH": str(epoch), "LC_ALL": "C.UTF-8"}
    with partial(path, "making the base image") as unfinished:
        try:
            say(f"making the base image from Debian {inputs.suite}: {', '.join(sorted(packages))}")
            code = watch(command, log, environment, tick_s=TICK_S, describe=lambda _: "")
            if code != 0:
                raise MissingEnvironment(_failure(inputs, source, code, log))
            normalise(raw, unfinished, epoch)
        except tarfile.TarError as error:
            raise MissingEnvironment(f"mmdebstrap's archive cannot be read: {error}") from error
        finally:
            raw.unlink(missing_ok=True)
    log.unlink(missing_ok=True)


def _failure(inputs: BaseInputs, source: str, code: int, log: Path) -> str:
    """Return why mmdebstrap failed, and what helps."""
    if disk_is_full(log.read_text(errors="replace")):
        return (
            f"the disk is full while making the base image: free some space below {log.parent} "
            "and the temporary directory, and start again"
        )
    quote(tail(log))
    return (
        f"mmdebstrap could not make a Debian {inputs.suite} from {source!r} "
        f"(exit code {code}, see the lines above): give this machine access to a Debian mirror, or "
        f"name one in {MIRROR_VARIABLE}"
    )


def mmdebstrap(
    output: Path, inputs: BaseInputs, packages: tuple[str, ...], source: str
) -> list[str]:
    """Return the command; mode auto lets root and an ordinary user make the same archive."""
    command = ["mmdebstrap", "--mode=auto", "--variant=minbase", "--format=tar"]
    command += ["--architectures=amd64", f"--include={','.join(sorted(packages))}"]
    command += [f"--dpkgopt=path-exclude={pattern}" for pattern in UNREAD]
    command += [f"--dpkgopt=path-include={pattern}" for pattern in KEPT]
    command += [f"--aptopt={option}" for option in apt_options()]
    removed = " ".join(f'"$1"/{name}' for name in CLEANED)
    command += [f"--customize-hook=rm -f {removed}"]
    return [*command, inputs.suite, str(output), source]


def debian_source(inputs: BaseInputs, environ: Mapping[str, str]) -> str:
    """One line of sources.list: the mirror this machine's own apt uses, or the one it is told.

    Raises MissingEnvironment where apt knows no Debian mirror.
    """
    mirror = environ.get(MIRROR_VARIABLE) or configured_mirror(inputs.suite)
    if mirror is None:
        raise MissingEnvironment(
            f"apt on this machine names no Debian mirror: name one in {MIRROR_VARIABLE}"
        )
    return f"deb {mirror} {inputs.suite} {inputs.component}"


def configured_mirror(suite: str) -> str | None:
    """Address of a Debian archive in apt's configuration, one that carries ``suite`` first."""
    lines = _output("apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(ORIGIN)")
    targets = [line.split(" ") for line in lines]
    for wanted in (
        [uri for uri, release, *_ in targets if release == suite],
        # Another release of Debian: its mirror carries ours too.
        [
            uri
            for uri, release, *origin in targets
            if origin == ["Debian"] and not release.endswith("-security")
        ],
    ):
        if wanted:
            return wanted[0]
    return None


def apt_options() -> list[str]:
    """This machine's options of apt for reaching a mirror: proxies, authorities, retries."""
    found = []
    for line in _output("apt-config", "dump", "Acquire"):
        name, _, value = line.partition(" ")
        if PASSED_ON.match(name) and value not in ("", '"";'):
            found.append(line)
    return found


def _output(*command: str) -> list[str]:
    """Return lines a command prints; none where it does not exist or fails."""
    if shutil.which(command[0]) is None:
        return []
    run = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"}
    )
    return run.stdout.splitlines() if run.returncode == 0 else []
