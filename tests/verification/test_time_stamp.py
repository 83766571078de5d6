"""Time stamps of RFC 3161: asked of an authority on loopback, and verified to the end."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.base.errors import AssayError, BadInput, MissingEnvironment
from assay.records.manifest import ATTESTATION, TIME_STAMP
from assay.verification.sign import public_key_path, sign
from assay.verification.time_service import TimeService, time_service
from assay.verification.time_stamp import check_time_stamp, read_time_stamp
from assay.verification.verify import VerificationResult, verify
from tests.report_fixtures import signed_report, write_repository
from tests.verification.time_authority import Authority, needs_openssl, served

pytestmark = needs_openssl
SIGNATURE = bytes(range(64))


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority") / "one")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority") / "two")


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(AssayError) as raised:
        call()
    return raised.value.code


class TestService:
    """What a service answers is checked before it is kept."""

    def test_a_stamp_of_the_signature_is_kept(self, authority: Authority) -> None:
        with served(authority.answer) as url:
            answer = TimeService(url, authority.certificate).stamp(SIGNATURE)
        stamp = check_time_stamp(answer, SIGNATURE, authority.certificate)
        assert stamp.authority == "DirName:/CN=Made-up TSA"

    def test_another_imprint_is_refused(self, authority: Authority) -> None:
        with served(lambda _: authority.stamp(b"something else")) as url:
            service = TimeService(url, authority.certificate)
            assert code_of(lambda: service.stamp(SIGNATURE)) == "timestamp-imprint"

    @pytest.mark.parametrize("options", [(), ("-no_nonce",)])
    def test_another_nonce_is_refused(self, authority: Authority, options: tuple[str, ...]) -> None:
        """An answer to an earlier query about the same signature, and one that names none."""
        with served(lambda _: authority.stamp(SIGNATURE, *options)) as url:
            service = TimeService(url, authority.certificate)
            assert code_of(lambda: service.stamp(SIGNATURE)) == "timestamp-nonce"

    def test_another_authority_is_refused(self, authority: Authority, stranger: Authority) -> None:
        with served(stranger.answer) as url:
            service = TimeService(url, authority.certificate)
            assert code_of(lambda: service.stamp(SIGNATURE)) == "timestamp-untrusted"

    @pytest.mark.parametrize("body", [b"", b"no answer", b"\x30\x80", b"\x30" * 5000])
    def test_what_is_no_answer_is_refused(self, authority: Authority, body: bytes) -> None:
        with served(lambda _: body) as url:
            service = TimeService(url, authority.certificate)
            assert code_of(lambda: service.stamp(SIGNATURE)) == "timestamp"

    @pytest.mark.parametrize(
        ("body", "kind", "status"),
        [
            (b"", "application/timestamp-reply", 503),
            (b"", "text/html", 200),
            (b"x" * 70_000, "application/timestamp-reply", 200),
            (b"", "application/timestamp-reply", 302),
        ],
    )
    def test_a_service_that_gives_none_is_one_sentence(
        self, authority: Authority, body: bytes, kind: str, status: int
    ) -> None:
        with served(lambda _: body, kind, status) as url:
            with pytest.raises(MissingEnvironment) as raised:
                TimeService(url, authority.certificate).stamp(SIGNATURE)
            assert str(raised.value).startswith(f"{url} gives no time stamp: ")

    def test_a_service_that_is_not_there(self, authority: Authority) -> None:
        with served(authority.answer) as url:
            pass
        with pytest.raises(MissingEnvironment, match="gives no time stamp: ConnectionError"):
            TimeService(url, authority.certificate).stamp(SIGNATURE)

    def test_no_openssl_is_what_the_machine_lacks(
        self, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(MissingEnvironment, match="apt-get install openssl"):
            time_service("http://127.0.0.1/", authority.certificate)


class TestWishes:
    """A service and its certificates are named together, or nobody is asked."""

    def test_nobody_is_asked_by_default(self) -> None:
        assert time_service(None, None) is None

    def test_one_without_the_other(self, authority: Authority) -> None:
        for url, path in (("http://127.0.0.1/", None), (None, authority.certificate)):
            with pytest.raises(BadInput, match="go together"):
                time_service(url, path)

    @pytest.mark.parametrize("url", ["", "file:///etc/passwd", "http://", "http://a b", "ftp://a"])
    def test_what_is_no_address(self, authority: Authority, url: str) -> None:
        with pytest.raises(BadInput, match="is no http or https address"):
            time_service(url, authority.certificate)

    def test_a_file_without_certificates(self, tmp_path: Path) -> None:
        (tmp_path / "ca").write_text("none")
        assert code_of(lambda: time_service("http://a/", tmp_path / "ca")) == "certificates"


class TestToken:
    """What is read is what is signed."""

    def test_words_around_the_token_are_not_read(self, authority: Authority) -> None:
        """The status is signed by nobody: it may tell of any time it likes."""
        answer = authority.stamp(SIGNATURE)
        assert read_time_stamp(answer).time.year > 2020
        granted = bytes.fromhex("3003020100")
        at = answer.index(granted)
        words = b"\nTime stamp: Jan  1 00:00:00 1999 GMT\n"
        text = bytes([0x0C, len(words)]) + words
        status = b"\x02\x01\x00" + bytes([0x30, len(text)]) + text
        body = bytes([0x30, len(status)]) + status + answer[at + len(granted) :]
        forged = b"\x30\x82" + len(body).to_bytes(2, "big") + body
        assert read_time_stamp(forged) == read_time_stamp(answer)

    def test_a_changed_token_is_refused(self, authority: Authority) -> None:
        answer = bytearray(authority.stamp(SIGNATURE))
        answer[-10] ^= 1
        assert code_of(
            lambda: check_time_stamp(bytes(answer), SIGNATURE, authority.certificate)
        ) == ("timestamp-untrusted")

    def test_the_callers_openssl_configuration_is_not_used(
        self, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        answer = authority.stamp(SIGNATURE)
        (tmp_path / "conf").write_text("openssl_conf = broken\n[broken]\nproviders = none_there\n")
        monkeypatch.setenv("OPENSSL_CONF", str(tmp_path / "conf"))
        assert read_time_stamp(answer).imprint


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Path:
    """A report whose signature was stamped when it was made."""
    base = tmp_path_factory.mktemp("stamped")
    report = signed_report(write_repository(base / "repo"))
    with served(authority.answer) as url:
        sign(report, base / "key", TimeService(url, authority.certificate))
    return base


@pytest.fixture
def report(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "base")) / "repo" / "reports" / "demo_run"


def checked(report: Path, authorities: Path | None) -> VerificationResult:
    key = public_key_path(report.parents[2] / "key")
    return verify(report, [key], time_authorities=authorities)


def told(report: Path, authorities: Path | None) -> str:
    checks = checked(report, authorities).checks
    return next(check.detail for check in checks if check.name == "timestamp")


class TestReport:
    """``timestamp.tsr`` beside the attestation."""

    def test_says_by_when_the_key_had_signed(self, report: Path, authority: Authority) -> None:
        assert " had signed by 20" in told(report, authority.certificate)
        assert "Made-up TSA" in told(report, authority.certificate)

    def test_without_certificates_it_is_unproven(self, report: Path) -> None:
        assert any(
            "--timestamp-ca was not given" in each for each in checked(report, None).unproven
        )

    def test_unopened_it_may_hold_anything(self, report: Path) -> None:
        (report / TIME_STAMP).write_bytes(b"\x1b[2J" * 1000)
        assert any("timestamp.tsr" in each for each in checked(report, None).unproven)

    def test_a_report_without_one_says_nothing_of_it(self, report: Path) -> None:
        (report / TIME_STAMP).unlink()
        result = checked(report, None)
        assert "timestamp" not in {check.name for check in result.checks}
        assert not any("timestamp" in each for each in result.unproven)

    def test_one_that_is_asked_for_must_be_there(self, report: Path, authority: Authority) -> None:
        (report / TIME_STAMP).unlink()
        assert code_of(lambda: checked(report, authority.certificate)) == "file-missing"

    def test_other_certificates_do_not_vouch(self, report: Path, stranger: Authority) -> None:
        assert code_of(lambda: checked(report, stranger.certificate)) == "timestamp-untrusted"

    def test_a_stamp_of_something_else(self, report: Path, authority: Authority) -> None:
        (report / TIME_STAMP).write_bytes(authority.stamp((report / ATTESTATION).read_bytes()))
        assert code_of(lambda: checked(report, authority.certificate)) == "timestamp-imprint"

    @pytest.mark.parametrize("data", [b"", b"none", b"\x30" * 60_000])
    def test_what_is_no_stamp(self, report: Path, authority: Authority, data: bytes) -> None:
        (report / TIME_STAMP).write_bytes(data)
        assert code_of(lambda: checked(report, authority.certificate)) == "timestamp"

    def test_too_much(self, report: Path, authority: Authority) -> None:
        (report / TIME_STAMP).write_bytes(bytes(70_000))
        assert code_of(lambda: checked(report, authority.certificate)) == "file-size"

    def test_a_statement_made_after_its_stamp(
        self, report: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "4000000000")
        with served(authority.answer) as url:
            service = TimeService(url, authority.certificate)
            sign(report, report.parents[2] / "key", service)
        assert code_of(lambda: checked(report, authority.certificate)) == "timestamp-created"

    def test_signing_again_takes_the_old_one_away(self, report: Path) -> None:
        sign(report, report.parents[2] / "key")
        assert not (report / TIME_STAMP).exists()

    def test_nothing_is_written_where_the_service_gives_none(
        self, report: Path, authority: Authority
    ) -> None:
        before = {path: path.read_bytes() for path in report.glob("*.*")}
        with served(lambda _: b"", status=503) as url, pytest.raises(MissingEnvironment):
            sign(report, report.parents[2] / "key", TimeService(url, authority.certificate))
        assert {path: path.read_bytes() for path in report.glob("*.*")} == before

    def test_a_file_without_certificates_is_bad_input(self, report: Path) -> None:
        with pytest.raises(BadInput, match="holds no certificates"):
            checked(report, report / ATTESTATION)
