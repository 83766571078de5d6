"""Images built by real engines: the same bytes everywhere, and nothing left when it goes wrong."""

import contextlib
import os
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.base.io import read_record
from assay.base.pip_locks import lock_hashes
from assay.building.toolchain import ensure_packages
from assay.images import engine_work
from assay.images.base import ensure_base
from assay.images.definition import load_inputs
from assay.images.engine_work import read_inside
from assay.images.host_import import import_host
from assay.images.make import ARCHIVE, RECORD
from assay.images.obtain import check_found, folder_of, obtain
from assay.records.images import ImageRecord
from assay.shared.files import sha256_file
from tests import tar_filters
from tests.conftest import ROOT
from tests.containers.conftest import Built, target, tree
from tests.containers.fixtures import Bench, bench

pytestmark = pytest.mark.docker


def names(client: docker.DockerClient | None) -> set[str]:
    """Every image of an engine, unnamed ones by their id."""
    assert client is not None
    found = client.api.images(all=True)
    return {tag for one in found for tag in one["RepoTags"] or [one["Id"]]}


@contextlib.contextmanager
def nothing_new(engine: Bench) -> Iterator[None]:
    """The engine holds the same images and containers afterwards."""
    before = names(engine.client), engine.containers()
    yield
    assert (names(engine.client), engine.containers()) == before


def seed(built: Built, root: Path) -> None:
    """Give another checkout the base and the wheels, so that they are not fetched again."""
    cache = root / "results" / "cache"
    (cache / "images").mkdir(parents=True)
    for path in (built.root / "results" / "cache" / "images").glob("base-*"):
        shutil.copy(path, cache / "images")
    (cache / "wheels").symlink_to(built.root / "results" / "cache" / "wheels")


def compared(path: str) -> bool:
    """Whether a file of the toolchain must be the host's: pip's notes and bytecode need not."""
    return ".dist-info" not in path and not path.endswith(".pyc")


class TestTheToolchainImage:
    def test_is_the_one_the_engine_holds(self, built: Built):
        found = engine_work.inspect(built.bench.client, built.record.tag)
        assert found is not None
        assert found["Id"] == built.record.image_id
        assert tuple(found["RootFS"]["Layers"]) == built.record.layers
        assert found["Config"]["Labels"]["assay.arch"] == "sm_90a"
        assert found["Created"].startswith("2020-09-13T12:26:40")

    def test_nothing_else_stays(self, built: Built):
        ours = {name for name in names(built.bench.client) if "assay-test" not in name}
        assert ours == {built.record.tag}
        assert built.bench.containers() == []
        left = sorted(path.name for path in built.folder.iterdir())
        assert left == sorted((ARCHIVE, RECORD))
        beside = {path.name.split("-")[0] for path in built.folder.parent.iterdir()}
        assert beside == {"base", built.record.definition}

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
        site = load_inputs(ROOT).roles.toolchain.site
        code = f"""
import hashlib, os
for folder, _, files in os.walk("{site}"):
    for name in files:
        path = os.path.join(folder, name)
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        print(os.path.relpath(path, "{site}"), digest, int(os.lstat(path).st_mtime))
"""
        lines = read_inside(built.bench.client, built.record.image_id, code)
        inside = {line for line in lines if compared(line.split()[0])}
        host = ensure_packages(ROOT).site
        outside = {
            f"{path.relative_to(host)} {sha256_file(path)} {int(path.lstat().st_mtime)}"
            for path in host.rglob("*")
            if path.is_file() and compared(str(path))
        }
        assert inside == outside


class TestTheArchive:
    def test_serves_a_runtime_without_an_engine(self, built: Built):
        record = obtain(built.root, target(), "toolchain", None, "apptainer")
        assert (record.runtime, record.image_id) == ("apptainer", built.record.image_id)
        assert folder_of(built.root, record) / ARCHIVE == built.folder / ARCHIVE

    def test_must_be_there_for_a_runtime_without_an_engine(self, tmp_path: Path):
        with pytest.raises(MissingEnvironment, match="apptainer cannot build one"):
            obtain(tree(tmp_path / "x"), target(), "runner", None, "apptainer")

    def test_comes_out_of_a_bundle(self, built: Built, tmp_path: Path):
        bundle = tmp_path / "bundle" / "images" / "h100" / "toolchain"
        shutil.copytree(built.folder, bundle, copy_function=os.link)
        record = obtain(
            tree(tmp_path / "x"), target(), "toolchain", built.bench.client, "docker",
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
                tree(tmp_path / "x"), target(), "toolchain", None, "apptainer",
                prebuilt=tmp_path / "bundle",
            )  # fmt: skip


class TestAMovedTag:
    @pytest.fixture
    def moved(self, built: Built) -> Iterator[str]:
        client = built.bench.client
        assert client is not None
        repository, _, version = built.record.tag.partition(":")
        client.api.tag(built.bench.image.image_id, repository, version, force=True)
        yield built.bench.image.image_id
        client.api.remove_image(built.record.tag)
        obtain(built.root, target(), "toolchain", client, "docker")

    def test_is_refused(self, built: Built, moved: str):
        with pytest.raises(CheckFailed, match=f"stands for {moved} .*changed under its tag"):
            obtain(built.root, target(), "toolchain", built.bench.client, "docker")

    def test_is_not_taken_over_by_an_image_that_is_made(
        self, built: Built, moved: str, tmp_path: Path
    ):
        root = tree(tmp_path / "x")
        seed(built, root)
        with nothing_new(built.bench), pytest.raises(CheckFailed, match="changed under its tag"):
            obtain(root, target(), "toolchain", built.bench.client, "docker")
        assert not list((root / "results/cache/images").glob("*toolchain*"))


class TestSameBytes:
    def test_the_base_comes_out_the_same_again(self, built: Built, tmp_path: Path):
        inputs = load_inputs(ROOT)
        packages = inputs.roles.toolchain.debian_packages
        _, digest = ensure_base(tmp_path / "deeper" / "x", inputs.base, packages, os.environ)
        assert digest == built.record.base.sha256

    @pytest.mark.podman
    def test_podman_builds_the_same_image_in_another_directory(self, built: Built, tmp_path: Path):
        root = tree(tmp_path / "another" / "place")
        seed(built, root)
        with bench("podman") as podman:
            record = obtain(root, target(), "toolchain", podman.client, "podman")
            again = obtain(root, target(), "toolchain", podman.client, "podman")
            ours = {name for name in names(podman.client) if "assay-test" not in name}
            assert podman.containers() == []
        assert record.image_id == built.record.image_id
        assert record.layers == built.record.layers
        assert (record.runtime, again) == ("podman", record)
        assert len(ours) == 1
        assert sha256_file(folder_of(root, record) / ARCHIVE) == sha256_file(built.folder / ARCHIVE)


class TestAFailedBuild:
    def test_tells_why_and_leaves_nothing(self, built: Built, tmp_path: Path):
        root = tmp_path / "x"
        root.mkdir()
        for name in ("config", "requirements"):
            (root / name).symlink_to(ROOT / name)
        shutil.copytree(ROOT / "containers", root / "containers")
        template = root / "containers" / "Dockerfile.j2"
        template.write_text(template.read_text().replace("WORKDIR /", "RUN exit 7"))
        seed(built, root)
        with (
            nothing_new(built.bench),
            pytest.raises(MissingEnvironment, match=r"failed while building an image.*7"),
        ):
            obtain(root, target(), "toolchain", built.bench.client, "docker")

    def test_an_archive_of_another_machine_is_refused(self, built: Built):
        found = engine_work.inspect(built.bench.client, built.record.tag)
        assert found is not None
        with pytest.raises(CheckFailed, match="is for arm64"):
            check_found(found | {"Architecture": "arm64"}, built.record, by_manifest=False)


SECRETS = ("etc/shadow", "etc/ssh/ssh_host_rsa_key", "etc/ssl/private/x", "opt/app/server.key")
BULK = ("usr/share/doc/x/README", "usr/local/cuda-13.0/lib64/libcublas_static.a")
KEPT = ("usr/lib/x86_64-linux-gnu/libc_nonshared.a", "opt/app/program")


@pytest.fixture(scope="module")
def system(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A machine's root: our base, with secrets and bulk."""
    folder = tmp_path_factory.mktemp("system")
    (base,) = (built.root / "results" / "cache" / "images").glob("base-*.tar")
    with tarfile.open(base) as archive:
        archive.extractall(folder, **tar_filters.TAR)
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
        root, client = tree(tmp_path / "x"), built.bench.client
        venv = Path("/home/me/venv")
        record = import_host(root, target(), client, "docker", extra=[venv], system=system)
        try:
            tested = [*SECRETS, *BULK, *KEPT, "root/.ssh/id_rsa", "home/me/secret"]
            code = f"import os; print([n for n in {tested!r} if os.path.lexists('/' + n)])"
            inside = read_inside(client, record.image_id, code)
            assert inside == [repr(list(KEPT))]
            assert record.base.kind == "host"
            assert record.base.reference.startswith("Debian GNU/Linux 12")
            assert record.role == "runner"
            assert ("thing", "1.5") in {(p.name, p.version) for p in record.python_packages}
            assert {"libc6", "python3"} <= {p.name for p in record.debian_packages}
            again = import_host(root, target(), client, "docker", extra=[venv], system=system)
            assert again == record
            stored = root / "results/cache/images" / record.definition / RECORD
            assert read_record(ImageRecord, stored) == record
        finally:
            client.api.remove_image(record.tag)

    def test_a_directory_that_is_not_there_leaves_nothing(
        self, built: Built, system: Path, tmp_path: Path
    ):
        with nothing_new(built.bench), pytest.raises(MissingEnvironment, match="/srv/none"):
            import_host(
                tree(tmp_path / "x"), target(), built.bench.client, "docker",
                extra=[Path("/srv/none")], system=system,
            )  # fmt: skip
