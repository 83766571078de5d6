"""The runner image from a GPU machine's own file system, where nothing can be downloaded.

Its bytes are that machine's and not reproducible: the record lists every package, and its base says
so. Secrets, homes and what belongs to one machine stay outside (``containers/images.yaml``).
"""

import os
import platform
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import docker

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.base.io import dump_record, read_record
from assay.base.isolation import isolated
from assay.base.pip_locks import tail
from assay.base.progress import exclusive, say
from assay.images import engine_work
from assay.images.definition import labels_of, load_inputs
from assay.images.disk import CHUNK, disk_sentence, working
from assay.images.installed_packages import read_packages
from assay.images.make import RECORD, engine_name, write_image_record
from assay.images.obtain import check_found, image_folder
from assay.records.images import ImageBase, ImageRecord, ImagesFile, RuntimeName
from assay.records.platform import Target
from assay.shared.files import sha256_bytes, sha256_file
from assay.shared.processes import tied_to_parent

FORMAT = 1
EMPTY = {"dev": 0o755, "proc": 0o555, "run": 0o755, "sys": 0o555, "tmp": 0o1777, "var/tmp": 0o1777}
"""Directories an image must have, with their modes."""
INSTALLED = (
    "usr/lib/python3*/dist-packages",
    "usr/local/lib/python3*/dist-packages",
    "usr/local/lib/python3*/site-packages",
    "opt/*/lib/python3*/site-packages",
)
UNREADABLE = 1
"""tar's exit code for files that changed or could not be read, which is no reason to stop."""


def import_host(
    root: Path,
    target: Target,
    client: docker.DockerClient,
    runtime: RuntimeName = "docker",
    *,
    python: str = "python3",
    extra: Sequence[Path] = (),
    system: Path = Path("/"),
) -> ImageRecord:
    """Record of a runner image with the files of ``system``, imported unless the engine has it.

    ``python`` is the interpreter that lists its packages, as the image names it: where it is one
    of this machine, the directories it looks into come along. ``extra`` are further directories.
    The image is made again when the packages change. Raises MissingEnvironment and CheckFailed.
    """
    if platform.machine() not in ("x86_64", "amd64"):
        raise MissingEnvironment(f"this machine is {platform.machine()}; images are for x86-64")
    inputs = load_inputs(root)
    if system == Path("/"):
        extra = [*extra, *places_of(python, inputs)]
    digest = definition_digest(inputs, target, extra, system)
    folder = image_folder(root, digest)
    tag = f"assay/{target.id}-runner:host-{digest[:12]}"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with exclusive(folder.with_suffix(".lock"), f"another process makes {tag}; waiting for it"):
            known = _known(client, folder, tag)
            if known is not None:
                return known.model_copy(update={"runtime": runtime, "engine": engine_name(client)})
            return _import(inputs, target, client, runtime, python, extra, system, folder, tag)
    except OSError as error:
        raise MissingEnvironment(
            disk_sentence(error, "importing this machine's files", folder.parent)
        ) from error


def places_of(python: str, inputs: ImagesFile) -> list[Path]:
    """Directories an interpreter needs that an import would leave out, outermost only.

    Raises MissingEnvironment when it does not start.
    """
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


def definition_digest(
    inputs: ImagesFile, target: Target, extra: Sequence[Path], system: Path
) -> str:
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
        target.id,
        target.arch,
        sorted(str(path) for path in extra),
        os_name(system),
        sha256_file(status) if status.is_file() else None,
        installed,
    )
    return sha256_bytes(repr(parts).encode())


def _known(client: docker.DockerClient, folder: Path, tag: str) -> ImageRecord | None:
    """Return the record of an earlier import that the engine still has under its tag."""
    found = engine_work.inspect(client, tag)
    if found is None or not (folder / RECORD).is_file():
        return None
    record = read_record(ImageRecord, folder / RECORD)
    check_found(found, record, by_manifest=False)
    return record


def _import(
    inputs: ImagesFile,
    target: Target,
    client: docker.DockerClient,
    runtime: RuntimeName,
    python: str,
    extra: Sequence[Path],
    system: Path,
    folder: Path,
    tag: str,
) -> ImageRecord:
    """Import, look inside, write the record. What did not come to an end is removed."""
    say(f"importing this machine's own files as {tag}")
    labels = labels_of(inputs, target, "runner")
    changes = [f'ENV {name}="{value}"' for name, value in sorted(inputs.environment.items())]
    changes += [f'LABEL {name}="{value}"' for name, value in sorted(labels.items())]
    paths = [*(Path(path) for path in inputs.host_import.include), *extra]
    with working():
        chunks = host_chunks(system, paths, extra, inputs.host_import.exclude, inputs)
        image = engine_work.import_stream(client, chunks, changes)
    try:
        found = engine_work.inspect(client, image)
        assert found is not None, "the engine has just given this id"
        if found.get("Architecture") != "amd64":
            raise CheckFailed(f"the engine took this machine's files for {found['Architecture']}")
        sites = [str(path) for path in extra]
        engine_work.tag(client, image, tag)
        return write_image_record(
            folder,
            read_packages(client, image, sites, (), python),
            target=target.id,
            role="runner",
            runtime=runtime,
            engine=engine_name(client),
            definition=folder.name,
            tag=tag,
            image_id=image,
            layers=tuple(found["RootFS"]["Layers"]),
            bytes=found["Size"],
            base=ImageBase(kind="host", reference=os_name(system), sha256=None),
            dockerfile_sha256=None,
        )
    except BaseException:
        engine_work.remove_images(client, [tag, image])
        raise


def host_chunks(
    system: Path,
    paths: Sequence[Path],
    extra: Sequence[Path],
    exclude: Sequence[str],
    inputs: ImagesFile,
) -> Iterator[bytes]:
    """Yield a tar archive of ``paths`` below ``system``, a piece at a time, written by tar itself.

    Raises MissingEnvironment when tar fails, or a path is not there that was named as extra.
    """
    for path in extra:
        if not inside(system, path).is_dir():
            raise MissingEnvironment(f"{path} is no directory and cannot go into the image")
    present = [path for path in paths if inside(system, path).exists()]
    names = [str(path).lstrip("/") for path in present]
    command = ["tar", "--create", "--file=-", f"--directory={system}", "--numeric-owner"]
    command += ["--ignore-failed-read", "--warning=none", "--anchored", "--wildcards"]
    command += ["--wildcards-match-slash", *(f"--exclude={pattern}" for pattern in exclude)]
    yield from _directories(extra, inputs.base.source_date_epoch)
    with tempfile.NamedTemporaryFile("w+") as log:
        process = subprocess.Popen(
            [*command, "--", *names],
            stdout=subprocess.PIPE,
            stderr=log,
            stdin=subprocess.DEVNULL,
            preexec_fn=tied_to_parent(),
        )
        assert process.stdout is not None
        try:
            while chunk := process.stdout.read(CHUNK):
                yield chunk
            code = process.wait()
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        if code not in (0, UNREADABLE):
            reason = tail(Path(log.name), 1) or f"exit code {code}"
            raise MissingEnvironment(f"tar could not read this machine's files: {reason}")


def _directories(extra: Sequence[Path], epoch: int) -> Iterator[bytes]:
    """Entries for directories whose content stays outside, and for the parents of extra ones."""
    modes = dict(EMPTY)
    for path in extra:
        for parent in reversed(path.parents):
            modes.setdefault(str(parent).lstrip("/"), 0o755)
    for name, mode in modes.items():
        if name and name.split("/")[0] not in ("usr", "opt", "etc", "bin", "lib", "lib64", "sbin"):
            info = tarfile.TarInfo(name)
            info.type, info.mode, info.mtime = tarfile.DIRTYPE, mode, epoch
            yield info.tobuf(tarfile.PAX_FORMAT)


def inside(system: Path, path: Path) -> Path:
    """Return an absolute path below another root."""
    return system / str(path).lstrip("/")


def os_name(system: Path) -> str:
    """Name and version of a machine's distribution."""
    for place in ("etc/os-release", "usr/lib/os-release"):
        try:
            lines = (system / place).read_text().splitlines()
        except OSError:
            continue
        for line in lines:
            if line.startswith("PRETTY_NAME="):
                return line.partition("=")[2].strip('"')
    return "an unknown distribution"
