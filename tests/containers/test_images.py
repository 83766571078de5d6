"""Images built by real engines: the same bytes everywhere, and nothing left when it goes wrong."""

import os
import shutil
import tarfile
from pathlib import Path

import pytest

from assay.base.errors import CheckFailed
from assay.base.io import read_record
from assay.base.pip_locks import lock_hashes
from assay.building.toolchain import ensure_packages
from assay.images.archive import LAYER
from assay.images.definition import define, load_inputs
from assay.images.host_import import import_host
from assay.images.obtain import ARCHIVE, RECORD, check_found, folder_of, make, obtain
from assay.records.images import ImageRecord
from assay.runtimes.base import Task
from assay.runtimes.engine import EngineRuntime, FoundImage
from assay.shared.files import sha256_file
from tests import tar_filters
from tests.conftest import ROOT
from tests.containers.conftest import Built, tree
from tests.containers.fixtures import bench

pytestmark = pytest.mark.docker


def names(engine: EngineRuntime) -> set[str]:
    return set(engine.ask("images", "--all", "--format", "{{.Repository}}:{{.Tag}}").split())


def printed(engine: EngineRuntime, image: str, code: str) -> list[str]:
    lines: list[str] = []
    task = Task(("python3", "-c", code), Path("/"), "a test")
    assert engine.run(task, FoundImage(image), lines.append).exit_code == 0, lines
    return lines


def compared(path: str) -> bool:
    """Whether a file of the toolchain must be the host's: pip's notes and bytecode need not."""
    return ".dist-info" not in path and not path.endswith(".pyc")


class TestTheToolchainImage:
    def test_is_the_one_the_engine_holds(self, built: Built):
        found = built.bench.engine.image(built.record.tag)
        assert found["Id"] == built.record.image_id
        assert tuple(found["RootFS"]["Layers"]) == built.record.layers
        assert found["Config"]["Labels"]["assay.role"] == "toolchain"
        assert found["Created"].startswith("2020-09-13T12:26:40")

    def test_nothing_else_stays(self, built: Built):
        ours = {name for name in names(built.bench.engine) if "assay-test" not in name}
        assert ours == {built.record.tag}
        assert built.bench.containers() == []
        left = sorted(path.name for path in built.folder.iterdir())
        assert left == sorted((ARCHIVE, RECORD))
        assert list(built.folder.parent.iterdir()) == [built.folder]

    def test_the_record_lists_every_wheel_of_the_lock(self, built: Built):
        wheels = {p.name: p.sha256 for p in built.record.python_packages if p.sha256}
        hashes = lock_hashes(ROOT / "requirements/toolchain.txt")
        assert set(wheels) == set(hashes.values())
        assert {hashes[digest] for digest in wheels.values() if digest} == set(wheels)

    def test_the_record_lists_debian_packages(self, built: Built):
        packages = {p.name: p for p in built.record.debian_packages}
        assert {"base-files", "g++", "libc6", "python3"} <= packages.keys()
        assert packages["libc6"].version.startswith("2.36-")

    def test_the_toolchain_is_unpacked_as_on_the_host(self, built: Built):
        site = load_inputs(ROOT).roles["toolchain"].site
        code = f"""
import hashlib, os
for folder, _, files in os.walk("{site}"):
    for name in files:
        path = os.path.join(folder, name)
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        print(os.path.relpath(path, "{site}"), digest, int(os.lstat(path).st_mtime))
"""
        lines = printed(built.bench.engine, built.record.image_id, code)
        inside = {line for line in lines if compared(line.split()[0])}
        host = ensure_packages(ROOT)
        outside = {
            f"{path.relative_to(host)} {sha256_file(path)} {int(path.lstat().st_mtime)}"
            for path in host.rglob("*")
            if path.is_file() and compared(str(path))
        }
        assert inside == outside


class TestTheArchive:
    def test_serves_a_runtime_without_an_engine(self, built: Built):
        record = obtain(built.root, "h200", "toolchain", None, "apptainer")
        assert (record.runtime, record.target) == ("apptainer", "h200")
        assert record.image_id == built.record.image_id
        assert folder_of(built.root, record) / ARCHIVE == built.folder / ARCHIVE

    def test_comes_out_of_a_bundle(self, built: Built, tmp_path: Path):
        bundle = tmp_path / "bundle" / "images" / "h100" / "toolchain"
        shutil.copytree(built.folder, bundle, copy_function=os.link)
        record = obtain(
            tree(tmp_path / "x"), "h100", "toolchain", built.bench.engine, "docker",
            prebuilt=tmp_path / "bundle",
        )  # fmt: skip
        assert record == built.record

    def test_is_refused_with_one_changed_byte(self, built: Built, tmp_path: Path):
        bundle = tmp_path / "bundle" / "images" / "h100" / "toolchain"
        shutil.copytree(built.folder, bundle)
        with (bundle / ARCHIVE).open("r+b") as stream:
            stream.seek(400_000_000)
            byte = stream.read(1)
            stream.seek(400_000_000)
            stream.write(bytes([byte[0] ^ 1]))
        with pytest.raises(CheckFailed, match="a layer was changed; it is not used"):
            obtain(
                tree(tmp_path / "x"), "h100", "toolchain", None, "apptainer",
                prebuilt=tmp_path / "bundle",
            )  # fmt: skip


class TestAMovedTag:
    def test_is_refused(self, built: Built):
        engine, tag = built.bench.engine, built.record.tag
        engine.ask("tag", built.bench.image.image_id, tag)
        try:
            other = built.bench.image.image_id
            with pytest.raises(CheckFailed, match=f"stands for {other} .*changed under its tag"):
                obtain(built.root, "h100", "toolchain", engine, "docker")
        finally:
            engine.remove_image(tag)
            obtain(built.root, "h100", "toolchain", engine, "docker")

    def test_an_archive_of_another_machine_is_refused(self, built: Built):
        found = built.bench.engine.image(built.record.tag)
        with pytest.raises(CheckFailed, match="is for arm64"):
            check_found(found | {"Architecture": "arm64"}, built.record)


class TestSameBytes:
    def test_it_is_made_the_same_again_in_another_directory(self, built: Built, tmp_path: Path):
        root = tree(tmp_path / "another" / "place")
        cache = root / "results" / "cache"
        cache.mkdir(parents=True)
        (cache / "wheels").symlink_to(built.root / "results" / "cache" / "wheels")
        make(define(root, "toolchain"), "h200", "podman", tmp_path / "made")
        assert sha256_file(tmp_path / "made" / ARCHIVE) == sha256_file(built.folder / ARCHIVE)

    @pytest.mark.podman
    def test_podman_takes_the_same_image(self, built: Built):
        with bench("podman") as podman:
            record = obtain(built.root, "h100", "toolchain", podman.engine, "podman")
            again = obtain(built.root, "h100", "toolchain", podman.engine, "podman")
            assert podman.containers() == []
            (line,) = printed(podman.engine, record.image_id, "print('runs')")
        assert (record.image_id, record.layers) == (built.record.image_id, built.record.layers)
        assert (record.runtime, again, line) == ("podman", record, "runs")


SECRETS = ("etc/shadow", "etc/ssh/ssh_host_rsa_key", "etc/ssl/private/x", "opt/app/server.key")
BULK = ("usr/share/doc/x/README", "usr/local/cuda-13.0/lib64/libcublas_static.a")
KEPT = ("usr/lib/x86_64-linux-gnu/libc_nonshared.a", "opt/app/program")


@pytest.fixture(scope="module")
def system(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A machine's root: our base, with secrets and bulk."""
    folder = tmp_path_factory.mktemp("system")
    with tarfile.open(built.folder / ARCHIVE) as archive:
        content = archive.extractfile(LAYER)
        with tarfile.open(fileobj=content) as layer:
            layer.extractall(folder, **tar_filters.TAR)
    shutil.rmtree(folder / "opt/assay")
    for name in (*SECRETS, *BULK, *KEPT[1:], "root/.ssh/id_rsa", "home/me/secret"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("planted")
    (folder / "home/me/venv/thing-1.5.dist-info").mkdir(parents=True)
    (folder / "home/me/venv/thing-1.5.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: thing\nVersion: 1.5\n"
    )
    return folder


class TestAnImportedHost:
    def test_holds_programs_and_no_secrets(self, built: Built, system: Path, tmp_path: Path):
        root, engine = tree(tmp_path / "x"), built.bench.engine
        venv = Path("/home/me/venv")
        record = import_host(root, "h100", engine, extra=[venv], system=system)
        try:
            tested = [*SECRETS, *BULK, *KEPT, "root/.ssh/id_rsa", "home/me/secret"]
            code = f"import os; print([n for n in {tested!r} if os.path.lexists('/' + n)])"
            inside = printed(engine, record.image_id, code)
            assert inside == [repr(list(KEPT))]
            assert record.base.kind == "host"
            assert record.base.reference.startswith("Debian GNU/Linux 12")
            assert record.role == "runner"
            assert ("thing", "1.5") in {(p.name, p.version) for p in record.python_packages}
            assert {"libc6", "python3"} <= {p.name for p in record.debian_packages}
            again = import_host(root, "h100", engine, extra=[venv], system=system)
            assert again == record
            stored = root / "results/cache/images" / record.definition / RECORD
            assert read_record(ImageRecord, stored) == record
        finally:
            engine.remove_image(record.tag)
