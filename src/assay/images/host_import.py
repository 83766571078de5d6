"""The runner image from a GPU machine's own file system, where nothing can be downloaded.

Its bytes are that machine's and not reproducible: the record lists every package, and its base says
so. Secrets, homes and what belongs to one machine stay outside (``containers/images.yaml``).
"""

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.base.io import dump_record, read_record, read_text, write_record
from assay.base.isolation import isolated
from assay.base.pip_locks import tail
from assay.base.progress import say
from assay.images.archive import alone
from assay.images.definition import LISTING, labels_of, load_inputs
from assay.images.obtain import RECORD, check_found, image_folder, image_record
from assay.records.images import ImageBase, ImageRecord, ImagesFile
from assay.runtimes.base import Task
from assay.runtimes.engine import EngineRuntime, FoundImage
from assay.shared.files import sha256_bytes, sha256_file
from assay.shared.processes import tied_to_parent

FORMAT = 2
EMPTY = {"dev": 0o755, "proc": 0o555, "run": 0o755, "sys": 0o555, "tmp": 0o1777, "var/tmp": 0o1777}
"""Directories an image must have, with their modes."""
INSTALLED = (
    "usr/lib/python3*/dist-packages", "usr/local/lib/python3*/dist-packages",
    "usr/local/lib/python3*/site-packages", "opt/*/lib/python3*/site-packages",
)  # fmt: skip
UNREADABLE = 1
"""tar's exit code for files that changed or could not be read, which is no reason to stop."""


def import_host(
    root: Path,
    target: str,
    engine: EngineRuntime,
    *,
    python: str = "python3",
    extra: Sequence[Path] = (),
    system: Path = Path("/"),
) -> ImageRecord:
    """Record of a runner image of ``system``'s files, imported anew when its packages change.
    ``python``, as the image names it, lists them; its directories come along, as do ``extra``.
    Raises MissingEnvironment and CheckFailed.
    """
    inputs = load_inputs(root)
    if system == Path("/"):
        extra = [*extra, *places_of(python, inputs)]
    digest = definition_digest(inputs, extra, system)
    folder = image_folder(root, digest)
    tag = f"assay/runner:host-{digest[:12]}"
    here = {"runtime": engine.name, "engine": engine.describe(), "target": target}
    with alone(folder, tag, "importing this machine's files"):
        found = engine.image(tag)
        if found is not None and (folder / RECORD).is_file():
            record = read_record(ImageRecord, folder / RECORD)
            check_found(found, record)
            return record.model_copy(update=here)
        listing = read_text(root / LISTING)
        try:
            image = _import(inputs, engine, tag, extra, system)
            lines: list[str] = []
            words = (python, "-c", listing, *map(str, extra))
            task = Task(words, Path("/"), "look into an image")
            outcome = engine.run(task, FoundImage(image["Id"]), lines.append)
            if outcome.exit_code != 0:
                said = lines[-1] if lines else "nothing said"
                raise CheckFailed(f"{python} in the image ended with an error: {said}")
            record = image_record(
                lines[-1],
                (),
                **here,
                role="runner",
                definition=digest,
                tag=tag,
                image_id=image["Id"],
                layers=tuple(image["RootFS"]["Layers"]),
                bytes=image["Size"],
                base=ImageBase(kind="host", reference=os_name(system), sha256=None),
            )
            write_record(record, folder / RECORD)
        except BaseException:
            engine.remove_image(tag)
            raise
        return record


def places_of(python: str, inputs: ImagesFile) -> list[Path]:
    """Directories a Python needs that an import leaves out. Raises MissingEnvironment."""
    code = "import sys; print('\\n'.join([sys.prefix, sys.base_prefix, *sys.path]))"
    try:
        run = subprocess.run(
            [python, "-c", code],
            env=isolated(os.environ), capture_output=True, text=True, check=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError) as error:
        raise MissingEnvironment(f"{python} does not start and cannot be imported") from error
    covered = [Path(path) for path in inputs.host_import.include]
    places: list[Path] = []
    for line in sorted(set(run.stdout.splitlines())):
        path = Path(line)
        if not path.is_absolute() or not path.is_dir() or path == Path("/"):
            continue
        if not any(path.is_relative_to(other) for other in (*covered, *places)):
            places.append(path)
    return places


def definition_digest(inputs: ImagesFile, extra: Sequence[Path], system: Path) -> str:
    """Digest of what is asked for, and of the packages the machine has."""
    status = system / "var/lib/dpkg/status"
    sites = [path for pattern in INSTALLED for path in sorted(system.glob(pattern))]
    sites += [inside(system, path) for path in extra]
    installed = sorted(
        str(path.relative_to(system)) for site in sites for path in site.glob("**/*.dist-info")
    )
    parts = (
        FORMAT,
        dump_record(inputs.host_import),
        sorted(inputs.environment.items()),
        sorted(str(path) for path in extra),
        os_name(system),
        sha256_file(status) if status.is_file() else None,
        installed,
    )
    return sha256_bytes(repr(parts).encode())


def _import(
    inputs: ImagesFile, engine: EngineRuntime, tag: str, extra: Sequence[Path], system: Path
) -> dict[str, Any]:
    """Import the files under ``tag``; return what the engine says of the image."""
    say(f"importing this machine's own files as {tag}")
    changes = [f'ENV {name}="{value}"' for name, value in sorted(inputs.environment.items())]
    labels = labels_of(inputs, "runner")
    changes += [f'LABEL {name}="{value}"' for name, value in sorted(labels.items())]
    words = [word for change in changes for word in ("--change", change)]
    with tempfile.TemporaryDirectory(prefix="assay-import-") as scratch:
        empty, log = Path(scratch) / "empty", Path(scratch) / "log"
        command = tar_command(inputs, extra, system, empty)
        with (
            log.open("w") as errors,
            subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                preexec_fn=tied_to_parent(),
            ) as tar,
        ):
            try:
                engine.ask("import", *words, "-", tag, doing="importing an image", given=tar.stdout)
                tar.wait()
            finally:
                tar.kill()
        if tar.returncode not in (0, UNREADABLE):
            reason = tail(log, 1) or f"exit code {tar.returncode}"
            raise MissingEnvironment(f"tar could not read this machine's files: {reason}")
    found = engine.image(tag)
    if found is None or found.get("Architecture") != "amd64":
        raise CheckFailed(f"the engine did not take this machine's files for {tag}")
    return found


def tar_command(inputs: ImagesFile, extra: Sequence[Path], system: Path, empty: Path) -> list[str]:
    """Return what writes the files below ``system`` as tar. In ``empty``, to be made, stand
    directories without content, and parents of ``extra`` ones. Raises MissingEnvironment without
    one of these.
    """
    for path in extra:
        if not inside(system, path).is_dir():
            raise MissingEnvironment(f"{path} is no directory and cannot go into the image")
    included = [Path(path) for path in inputs.host_import.include]
    present = [path for path in (*included, *extra) if inside(system, path).exists()]
    tops = {path.parts[1] for path in included if len(path.parts) == 2}
    modes = {parent: 0o755 for path in extra for parent in path.parents}
    modes |= {Path("/", name): mode for name, mode in EMPTY.items()}
    made = [path for path in sorted(modes) if path.parts[1:2] and path.parts[1] not in tops]
    for path in made:
        inside(empty, path).mkdir(parents=True, exist_ok=True)
        inside(empty, path).chmod(modes[path])
    command = ["tar", "--create", "--file=-", "--numeric-owner", "--ignore-failed-read"]
    command += ["--warning=none", "--anchored", "--wildcards", "--wildcards-match-slash"]
    command += [f"--exclude={pattern}" for pattern in inputs.host_import.exclude]
    command += ["--no-recursion", f"--directory={empty}", *(str(path)[1:] for path in made)]
    return [*command, "--recursion", f"--directory={system}", *(str(path)[1:] for path in present)]


def inside(system: Path, path: Path) -> Path:
    """Return an absolute path below another root."""
    return system / str(path).lstrip("/")


def os_name(system: Path) -> str:
    """Name and version of a machine's distribution."""
    places = (system / name for name in ("etc/os-release", "usr/lib/os-release"))
    text = next((place.read_text() for place in places if place.is_file()), "")
    found = re.search(r'^PRETTY_NAME="?([^"\n]*)', text, re.MULTILINE)
    return found[1] if found else "an unknown distribution"
