"""A Debian with wheels in it as one tar archive, by mmdebstrap: the same bytes each time."""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.base.errors import MissingEnvironment
from assay.base.pip_locks import tail
from assay.base.progress import quote, watch
from assay.base.writable import cache_folder, disk_is_full
from assay.images.definition import INSTALL, LISTING, Definition, pip_entry
from assay.images.wheels import Wheel, ensure_wheels
from assay.records.images import BaseInputs

MIRROR_VARIABLE = "ASSAY_DEBIAN_MIRROR"
UNREAD = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*")
KEPT = ("/usr/share/doc/*/copyright",)
PASSED_ON = re.compile(r"Acquire::(https?::|Check-|Retries|ForceIPv4|ForceIPv6)")
PLACE, LISTED = "/tmp/inputs", "/tmp/packages.json"  # noqa: S108 - inside of the image
NONE = "there is no mmdebstrap to make an image with (apt-get install mmdebstrap)"


def make_layer(definition: Definition, layer: Path, listing: Path) -> list[Wheel]:
    """Write an image's sorted and dated file system to ``layer``, its packages to ``listing``;
    return the wheels in it. Raises MissingEnvironment, CheckFailed for another wheel, OSError.
    """
    root, environ = definition.root, dict(os.environ)
    if shutil.which("mmdebstrap") is None:
        raise MissingEnvironment(NONE)
    source = debian_source(definition.inputs.base, environ)
    cache, lock = cache_folder(root) / "wheels", root / definition.mine.lock
    wheels = ensure_wheels(cache, lock, environ)
    with tempfile.TemporaryDirectory(prefix="assay-image-") as scratch:
        folder, log = Path(scratch), Path(scratch) / "log"
        pip_lock = folder / "pip.txt"
        pip_lock.write_text(pip_entry(root))
        pip = ensure_wheels(cache, pip_lock, environ)[0].path
        given = [root / INSTALL, root / LISTING, lock, pip, wheels[0].path.parent]
        command = mmdebstrap(definition, given, listing)
        command += [definition.inputs.base.suite, str(layer), source]
        epoch = str(definition.inputs.base.source_date_epoch)
        environment = {**environ, "SOURCE_DATE_EPOCH": epoch, "LC_ALL": "C.UTF-8"}
        code = watch(command, log, environment)
        if code != 0:
            raise MissingEnvironment(_failure(definition.inputs.base, source, code, log))
    return wheels


def mmdebstrap(definition: Definition, given: Sequence[Path], listing: Path) -> list[str]:
    """Return the command but for suite, output and mirror, the same for root and others. ``given``:
    install.sh, the listing, the lock, pip's wheel and the folder of wheels.
    """
    packages = ",".join(sorted(definition.mine.debian_packages))
    command = ["mmdebstrap", "--mode=auto", "--variant=minbase", "--format=tar"]
    command += ["--architectures=amd64", f"--include={packages}", "--skip=output/dev"]
    command += [f"--dpkgopt=path-exclude={pattern}" for pattern in UNREAD]
    command += [f"--dpkgopt=path-include={pattern}" for pattern in KEPT]
    command += [f"--aptopt={option}" for option in apt_options()]
    variables = [f"{name}={value}" for name, value in sorted(definition.inputs.environment.items())]
    install, _, lock, pip, wheels = (path.name for path in given)
    words = ["env", "-i", *variables, "sh", f"{PLACE}/{install}", lock, pip, wheels]
    words += [definition.mine.site] if definition.mine.site else []
    hooks = (
        f'mkdir -p "$1{PLACE}"',
        f"copy-in {shlex.join(map(str, given))} {PLACE}",
        f'chroot "$1" {shlex.join(words)}',
        f"download {LISTED} {shlex.quote(str(listing))}",
        f'rm "$1{LISTED}"',
    )
    return [*command, *(f"--customize-hook={hook}" for hook in hooks)]


def _failure(inputs: BaseInputs, source: str, code: int, log: Path) -> str:
    if disk_is_full(log.read_text(errors="replace")):
        return (
            "the disk is full while making the image: free some space below the cache and the "
            "temporary directory, and start again"
        )
    quote(tail(log))
    return (
        f"mmdebstrap could not make a Debian {inputs.suite} from {source!r} "
        f"(exit code {code}, see the lines above): give this machine access to a Debian mirror, or "
        f"name one in {MIRROR_VARIABLE}"
    )


def debian_source(inputs: BaseInputs, environ: Mapping[str, str]) -> str:
    """One line of sources.list, by apt's mirror or the named one. Raises MissingEnvironment."""
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
    ours = [uri for uri, release, *_ in targets if release == suite]
    # Another release of Debian: its mirror carries ours too.
    others = [
        uri
        for uri, release, *origin in targets
        if origin == ["Debian"] and not release.endswith("-security")
    ]
    return next(iter([*ours, *others]), None)


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
