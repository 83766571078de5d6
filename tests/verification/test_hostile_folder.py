"""A report directory made by an enemy is refused soon, for its own reason, and within bounds."""

import json
import multiprocessing
import os
import resource
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from assay.base.errors import AssayError, CheckFailed
from assay.records.attestation import DigestSet
from assay.records.manifest import Manifest
from assay.shared.files import sha256_bytes, write_bytes
from assay.verification.attestation import load_signer, parse_statement, seal
from assay.verification.envelope import parse_envelope
from assay.verification.manifest import build_manifest
from assay.verification.sign import sign
from assay.verification.verify import verify
from tests.cases.bombs import gzip_bomb
from tests.report_fixtures import signed_report, write_repository

MOST_SECONDS = 10.0
MOST_MEMORY = 500_000_000
"""Bytes of the process that verifies, at its peak: what issue and docs/trust.md promise."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("hostile")
    signed_report(write_repository(base / "repo"))
    return base


@pytest.fixture
def base(made: Path, tmp_path: Path) -> Iterator[Path]:
    copy = tmp_path / "base"
    shutil.copytree(made, copy)
    yield copy
    shutil.rmtree(copy, ignore_errors=True)


@pytest.fixture
def report(base: Path) -> Path:
    return base / "repo" / "reports" / "demo_run"


@pytest.fixture(scope="module")
def verifier() -> Iterator[ProcessPoolExecutor]:
    """A process of its own: a test must not take the machine, or pytest, along."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=_limit) as pool:
        yield pool


Refusal = Callable[[Path], str]


@pytest.fixture
def refusal(verifier: ProcessPoolExecutor) -> Refusal:
    """The code of a refusal that kept within the bounds of time and memory."""

    def refused(report: Path) -> str:
        code, seconds, peak = verifier.submit(_refused, report).result(timeout=120)
        assert seconds < MOST_SECONDS
        assert peak < MOST_MEMORY
        return code

    return refused


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))


def _refused(report: Path) -> tuple[str, float, int]:
    """Return the code of the refusal, the seconds it took, and the peak of this process's memory.

    The peak is the program's own: that of ``getrusage`` would be its parent's as well.
    """
    with suppress(OSError):  # begin the peak anew; where that cannot be, it is an earlier one's
        Path("/proc/self/clear_refs").write_text("5")
    started = time.monotonic()
    try:
        verify(report, [report.parents[2] / "key.pub"])
        code = "verified"
    except AssayError as error:
        code = error.code
    seconds = time.monotonic() - started
    status = Path("/proc/self/status").read_text()
    return code, seconds, int(status.split("VmHWM:")[1].split()[0]) * 1024


def sign_anew(report: Path, change: Callable[[list[dict[str, object]]], None]) -> None:
    """Have the trusted key sign a manifest that says what ``change`` makes of its list."""
    path = report / "manifest.json"
    document = json.loads(path.read_bytes())
    change(document["files"])
    data = json.dumps(document).encode()
    statement = parse_statement(parse_envelope((report / "attestation.json").read_bytes()))
    subject = statement.subject[0].model_copy(
        update={"digest": DigestSet(sha256=sha256_bytes(data))}
    )
    other = statement.model_copy(update={"subject": (subject,)})
    write_bytes(path, data)
    write_bytes(report / "attestation.json", seal(other, load_signer(report.parents[2] / "key")))


def sparse(path: Path, size: int) -> None:
    with path.open("ab") as stream:
        stream.truncate(size)


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def _socket(path: Path) -> None:
    path.unlink()
    here = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path.name)
    finally:
        os.chdir(here)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _terabyte(path: Path) -> None:
    sparse(path, 1 << 40)


SPECIAL = {
    "pipe": _pipe, "link": _link, "socket": _socket, "folder": _folder, "terabyte": _terabyte,
}  # fmt: skip


class TestBeforeAnybodyVouches:
    """Unsigned: only the envelope, the key and the manifest are opened at all."""

    @pytest.mark.parametrize("name", ["attestation.json", "signer.pub", "manifest.json"])
    @pytest.mark.parametrize("kind", SPECIAL)
    def test_what_is_no_plain_file_is_not_read(self, report: Path, name: str, kind: str) -> None:
        SPECIAL[kind](report / name)
        with pytest.raises(CheckFailed) as raised:
            verify(report, [report.parents[2] / "key.pub"])
        assert raised.value.code == ("file-size" if kind == "terabyte" else "file-kind")

    def test_an_envelope_of_100000_brackets_is_malformed(
        self, report: Path, refusal: Refusal
    ) -> None:
        (report / "attestation.json").write_text("[" * 100_000)
        assert refusal(report) == "json-depth"

    def test_a_strangers_evidence_may_be_anything(self, report: Path, refusal: Refusal) -> None:
        """The five files that ended verifying by a crash, by 20.9 GB and after 105 s."""
        (report / "attestation.json").write_text("{}")
        (report / "evidence" / "plan.json").write_text("[" * 100_000)
        (report / "evidence" / "config" / "judging.yaml").write_text("[" * 100_000)
        _terabyte(report / "verdicts.json")
        assert refusal(report) == "envelope"


class TestShape:
    """Signed, or copied from what was: what lies there besides is seen and not read."""

    def test_a_folder_of_twenty_thousand_files(self, report: Path, refusal: Refusal) -> None:
        folder = report / "evidence" / "many"
        folder.mkdir()
        for number in range(20_000):
            os.mknod(folder / str(number))
        assert refusal(report) == "shape-files"

    def test_folders_without_end(self, report: Path, refusal: Refusal) -> None:
        deep = report / "evidence"
        for _ in range(500):
            deep /= "d"
        deep.mkdir(parents=True)
        assert refusal(report) == "shape-depth"

    @pytest.mark.parametrize("kind", ["pipe", "link", "socket"])
    def test_a_special_file(self, report: Path, kind: str, refusal: Refusal) -> None:
        SPECIAL[kind](report / "report.md")
        assert refusal(report) == ("shape-link" if kind == "link" else "shape-kind")

    @pytest.mark.parametrize(
        "name",
        [
            b"line\nok  signature: signed by trusted key",
            b"\x1b]8;;evil.example\x07here",
            b"\xff\xfe",
            b"n" * 255,
            "\u202egnp.exe".encode(),
            "zero\u200bwidth".encode(),
            b"back\\slash",
            b"tab\t",
        ],
        ids=["newline", "escape", "no UTF-8", "255 bytes", "right to left", "zero width",
             "backslash", "tab"],
    )  # fmt: skip
    def test_a_name_that_is_not_what_it_seems(self, report: Path, name: bytes) -> None:
        Path(os.fsdecode(os.fsencode(report) + b"/evidence/" + name)).write_bytes(b"")
        with pytest.raises(CheckFailed) as raised:
            verify(report, [report.parents[2] / "key.pub"])
        assert raised.value.code == "shape-name"
        assert str(raised.value).isascii()
        assert len(str(raised.value).splitlines()) == 3

    @pytest.mark.parametrize("pair", [("Report.md", "report.md"), ("e\u0301", "\u00e9")])
    def test_names_that_are_one_elsewhere(self, report: Path, pair: tuple[str, str]) -> None:
        for name in pair:
            (report / name).touch()
        with pytest.raises(CheckFailed) as raised:
            verify(report, [report.parents[2] / "key.pub"])
        assert raised.value.code == "shape-case"

    def test_a_file_longer_than_listed_is_not_read_to_its_end(
        self, report: Path, refusal: Refusal
    ) -> None:
        _terabyte(report / "report.html")
        assert refusal(report) == "contents"

    def test_a_terabyte_that_is_listed_is_refused_by_the_list(
        self, report: Path, refusal: Refusal
    ) -> None:
        _terabyte(report / "report.html")

        def change(files: list[dict[str, object]]) -> None:
            next(each for each in files if each["path"] == "report.html")["bytes"] = 1 << 40

        sign_anew(report, change)
        assert refusal(report) == "shape"

    def test_many_files_that_are_too_much_together(self, report: Path, refusal: Refusal) -> None:
        for number in range(3):
            sparse(report / f"{number}.bin", 30_000_000)

        def change(files: list[dict[str, object]]) -> None:
            files[:0] = [{"path": f"{number}.bin", "sha256": "0" * 64, "bytes": 30_000_000}
                         for number in range(3)]  # fmt: skip

        sign_anew(report, change)
        assert refusal(report) == "shape"

    def test_nobody_signs_what_nobody_could_verify(self, report: Path) -> None:
        sparse(report / "big.bin", 33_000_000)
        with pytest.raises(CheckFailed) as raised:
            build_manifest(report, "demo_run")
        assert raised.value.code == "file-size"


class TestSignedEvidence:
    """A trusted key signed it: what it holds is bounded all the same."""

    @pytest.mark.parametrize(
        ("path", "data", "code"),
        [
            ("evidence/plan.json", b"[" * 100_000, "json-depth"),
            ("evidence/plan.json", b"[" + b"[]," * 5_000_000 + b"[]]", "json-nodes"),
            ("evidence/config/judging.yaml", b"[" * 100_000, "yaml-depth"),
            ("evidence/config/judging.yaml", b"a: &a [x]\nb: [*a, *a]\n", "yaml-anchor"),
            ("evidence/config/claims/demo.yaml", b"a: " + b"x" * 2_000_000, "file-size"),
        ],
        ids=["deep JSON", "a list without end", "deep YAML", "aliases", "long YAML"],
    )
    def test_a_hostile_record(
        self, report: Path, path: str, data: bytes, code: str, refusal: Refusal
    ) -> None:
        (report / path).write_bytes(data)
        self._resign(report)
        assert refusal(report) == code

    def test_a_gzip_bomb(self, report: Path, refusal: Refusal) -> None:
        squeeze = gzip_bomb(4_000)
        assert len(squeeze) < 5_000_000
        (path,) = (report / "evidence" / "h100" / "benchmark").glob("*.gz")
        path.write_bytes(squeeze)
        self._resign(report)
        assert refusal(report) == "evidence-size"

    def test_a_gzip_bomb_that_denies_it(self, report: Path, refusal: Refusal) -> None:
        (path,) = (report / "evidence" / "h100" / "benchmark").glob("*.gz")
        path.write_bytes(gzip_bomb(400, says=100))
        self._resign(report)
        assert refusal(report) == "gzip-size"

    @staticmethod
    def _resign(report: Path) -> None:
        """As ``sign`` would, but for reading the catalog, which may be what is broken."""
        manifest: Manifest = build_manifest(report, "demo_run")
        sign_anew(
            report,
            lambda files: files.__setitem__(
                slice(None), [each.model_dump(mode="json") for each in manifest.files]
            ),
        )


def test_the_report_that_they_are_made_from_verifies(report: Path, refusal: Refusal) -> None:
    sign(report, report.parents[2] / "key")
    assert refusal(report) == "verified"
