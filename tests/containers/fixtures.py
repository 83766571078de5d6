"""Running engines and a tiny image for the tests: one static program, made on the spot."""

import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from assay.records.images import ImageBase, ImageRecord
from assay.runtimes.apptainer import ApptainerRuntime, make_sif
from assay.runtimes.base import Bind, CommandOutcome, Runtime, Task
from assay.runtimes.engine import EngineRuntime
from assay.shared.files import sha256_file
from tests.containers.engines import ENGINES

FOLDERS = ("bin", "dev", "etc", "proc", "sys", "tmp")
COMMANDS = ("sh", "cat", "chmod", "dd", "df", "env", "id", "kill", "ls", "mkdir", "printf", "seq")
MORE = ("sleep", "touch", "true", "false", "grep", "test", "echo", "stat", "ip", "mount", "ps")
VARIABLES = {"docker": "DOCKER_HOST", "podman": "CONTAINER_HOST"}


def root_file_system(note: str = "") -> bytes:
    """A tar with busybox under the names that the tests use; ``note`` makes it another image."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name in FOLDERS:
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            tar.addfile(folder)
        path = shutil.which("busybox")
        for name, data in (("bin/busybox", Path(path).read_bytes()), ("etc/note", note.encode())):
            file = tarfile.TarInfo(name)
            file.size, file.mode = len(data), 0o755
            tar.addfile(file, io.BytesIO(data))
        for name in (*COMMANDS, *MORE):
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
    return buffer.getvalue()


def docker_archive(path: Path) -> str:
    """Write the tiny image as ``docker save`` does; its id."""
    layer = root_file_system()
    diff = f"sha256:{hashlib.sha256(layer).hexdigest()}"
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {},
            "rootfs": {"type": "layers", "diff_ids": [diff]},
        }
    ).encode()
    digest = hashlib.sha256(config).hexdigest()
    manifest = [{"Config": f"{digest}.json", "RepoTags": ["assay-test:tiny"], "Layers": ["l.tar"]}]
    parts = {
        f"{digest}.json": config,
        "l.tar": layer,
        "manifest.json": json.dumps(manifest).encode(),
    }
    with tarfile.open(path, mode="w") as tar:
        for name, data in parts.items():
            file = tarfile.TarInfo(name)
            file.size = len(data)
            tar.addfile(file, io.BytesIO(data))
    return f"sha256:{digest}"


def import_image(engine: EngineRuntime, note: str = "") -> str:
    """Id of a tiny image, imported into the engine."""
    with tempfile.TemporaryFile() as archive:
        archive.write(root_file_system(note))
        archive.seek(0)
        engine.ask("import", "-", "assay-test:tiny", given=archive)
    found = engine.image("assay-test:tiny")
    return str(found["Id"])


def record(image_id: str, sif_sha256: str | None = None) -> ImageRecord:
    """The record of a tiny image; what the runtimes do not read is made up."""
    zero = "0" * 64
    return ImageRecord(
        schema="assay/image/1", target="h100", role="toolchain", runtime="docker",
        engine="a test's", definition=zero, tag="assay-test:tiny", image_id=image_id,
        layers=(f"sha256:{zero}",), architecture="amd64", bytes=0,
        base=ImageBase(kind="debian", reference="none", sha256=None), dockerfile_sha256=None,
        debian_packages=(), python_packages=(), sif_sha256=sif_sha256,
    )  # fmt: skip


@dataclass
class Bench:
    """A runtime with the tiny image, and short ways to use both."""

    name: str
    runtime: Runtime
    image: ImageRecord
    url: str = ""

    def run(self, *command: str, **keywords: object) -> tuple[CommandOutcome, list[str]]:
        found: list[str] = []
        task = Task(command, keywords.pop("directory", Path("/")), "a test", **keywords)  # type: ignore[arg-type]
        return self.runtime.run(task, self.image, found.append), found

    def shell(
        self, script: str, *binds: Bind, **keywords: object
    ) -> tuple[CommandOutcome, list[str]]:
        return self.run("sh", "-c", script, binds=binds, **keywords)

    def containers(self) -> list[str]:
        return self.engine.ask("ps", "--all", "--quiet").split()

    @property
    def engine(self) -> EngineRuntime:
        return self.runtime


@contextmanager
def bench(name: str) -> Iterator[Bench]:
    """A real runtime with the tiny image in it, an engine reached as users reach theirs."""
    if name == "apptainer":
        with tempfile.TemporaryDirectory(prefix="assay-sif-") as folder:
            archive, sif = Path(folder, "image.tar"), Path(folder, "image.sif")
            image_id = docker_archive(archive)
            digest = make_sif(archive, sif)
            assert sorted(Path(folder).iterdir()) == [sif, archive]
            assert digest == sha256_file(sif)
            yield Bench(name, ApptainerRuntime.find(lambda image: sif), record(image_id, digest))
        return
    with ENGINES[name]() as engine:
        variable = VARIABLES[name]
        before = os.environ.get(variable)
        os.environ[variable] = engine.url
        try:
            runtime = EngineRuntime("docker" if name == "docker" else "podman")
            image = record(import_image(runtime))
            yield Bench(name, runtime, image, engine.url)
        finally:
            os.environ.pop(variable)
            if before is not None:
                os.environ[variable] = before
