"""``./assay sign``: a second key signs what the first one did, and the threshold is met."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from assay.verification import add_signature as adding
from assay.verification.attestation import load_signer, seal_payload
from assay.verification.envelope import dump_envelope, parse_envelope, signed_envelope
from assay.verification.report_archive import pack_report
from assay.verification.sign import load_or_create_signer, public_key_path, write_public_key
from tests.report_fixtures import signed_report, write_repository
from tests.verification.time_authority import Authority, needs_openssl, served

ENVELOPES = ("attestation.json", "provenance.json")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("two_keys")
    signed_report(write_repository(base / "repo"))
    for name in ("second", "third"):
        write_public_key(base / name, load_or_create_signer(base / name))
    return base


@pytest.fixture
def base(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "base"))


@pytest.fixture
def report(base: Path) -> Path:
    return base / "repo" / "reports" / "demo_run"


def public(base: Path, *names: str) -> list[object]:
    """Options that trust these keys; what no clone has the commit of is judged by its own rules."""
    keys = [part for name in names for part in ("--key", public_key_path(base / name))]
    return [*keys, "--accept-policy"]


def files(report: Path) -> dict[str, bytes]:
    found = (path for path in report.rglob("*") if path.is_file())
    return {path.relative_to(report).as_posix(): path.read_bytes() for path in found}


def test_two_keys_meet_a_threshold_of_two(assay: Any, base: Path, report: Path) -> None:
    before = files(report)
    both = public(base, "key", "second")
    answer = assay("verify", report, *both, "--threshold", 2)
    assert answer.code == 1
    assert "signed by 1 of the 2 trusted keys" in answer.err
    answer = assay("sign", report, "--signing-key", base / "second", *public(base, "key"))
    assert answer.code == 0
    assert answer.out.splitlines()[-1].endswith(": 2 signatures now")
    assert assay("verify", report, *both, "--threshold", 2).code == 0
    for name in ("key", "second"):
        assert assay("verify", report, *public(base, name)).code == 0
    after = files(report)
    assert {name for name in after if after[name] != before.get(name)} == set(ENVELOPES)


def test_each_envelope_stays_canonical_in_the_order_of_key_ids(
    assay: Any, base: Path, report: Path
) -> None:
    for name in ("second", "third"):
        assert assay("sign", report, "--signing-key", base / name, *public(base, "key")).code == 0
    ids = sorted(load_signer(base / name).public_key.keyid for name in ("key", "second", "third"))
    for name in ENVELOPES:
        entries = json.loads((report / name).read_bytes())["signatures"]
        assert [entry["keyid"] for entry in entries] == ids


def test_what_stands_in_the_checkout_asks_for_as_many(
    assay: Any, base: Path, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By keys.yaml of the verifier's own checkout, whose threshold the first signer cannot meet."""
    folder = base / "checkout" / "config" / "trusted_keys"
    folder.mkdir(parents=True)
    for name in ("key", "second"):
        shutil.copy(public_key_path(base / name), folder)
    keys = "\n".join(f"  - {{file: {name}.pub, name: {name}}}" for name in ("key", "second"))
    (folder / "keys.yaml").write_text(
        f"schema: assay/trusted_keys/1\nthreshold: 2\nkeys:\n{keys}\n"
    )
    shutil.copytree(base / "repo" / "reports" / "templates", base / "checkout/reports/templates")
    monkeypatch.setattr("assay.cli.checkout.ROOT", base / "checkout")
    accept = "--accept-policy"
    assert assay("verify", report, accept).code == 1
    assert assay("sign", report, "--signing-key", base / "second", accept).code == 0
    assert assay("verify", report, accept).code == 0


def test_the_provenance_must_meet_the_threshold_too(assay: Any, base: Path, report: Path) -> None:
    before = (report / "provenance.json").read_bytes()
    assert assay("sign", report, "--signing-key", base / "second", *public(base, "key")).code == 0
    (report / "provenance.json").write_bytes(before)
    answer = assay("verify", report, *public(base, "key", "second"), "--threshold", 2)
    assert answer.code == 1
    assert "provenance: signed by 1 of the 2" in answer.err


def test_other_rules_must_be_accepted(assay: Any, base: Path, report: Path) -> None:
    """Whoever signs says that the report holds: by rules that are theirs, or are named."""
    key = ("--key", public_key_path(base / "key"))
    answer = assay("sign", report, "--signing-key", base / "second", *key)
    assert answer.code == 1
    assert "judged by other rules" in answer.err
    rules = ("--policy", base / "repo")
    assert assay("sign", report, "--signing-key", base / "second", *key, *rules).code == 0


class TestRefused:
    """What is not signed stays as it was, byte for byte."""

    @pytest.fixture(autouse=True)
    def untouched(self, request: pytest.FixtureRequest, report: Path) -> Any:
        yield
        if hasattr(self, "before"):
            assert files(report) == self.before

    before: dict[str, bytes]

    def refused(self, assay: Any, report: Path, *arguments: object) -> Any:
        self.before = files(report)
        answer = assay("sign", report, *arguments)
        assert len(answer.err.strip().splitlines()) >= 1
        assert "Traceback" not in answer.err
        return answer

    def test_a_key_that_signed_already(self, assay: Any, base: Path, report: Path) -> None:
        answer = self.refused(assay, report, "--signing-key", base / "key", *public(base, "key"))
        assert answer.code == 2
        assert "has signed it already" in answer.err

    def test_a_report_that_does_not_verify(self, assay: Any, base: Path, report: Path) -> None:
        (report / "verdicts.json").write_bytes((report / "verdicts.json").read_bytes() + b" ")
        answer = self.refused(assay, report, "--signing-key", base / "second", *public(base, "key"))
        assert answer.code == 1
        assert "does not verify" in answer.err

    def test_a_report_of_a_stranger(self, assay: Any, base: Path, report: Path) -> None:
        answer = self.refused(
            assay, report, "--signing-key", base / "second", *public(base, "third")
        )
        assert answer.code == 1

    def test_a_revoked_key_of_ones_own(self, assay: Any, base: Path, report: Path) -> None:
        """Whose signature would spoil the report for everybody who knows that."""
        folder = base / "trusted_keys"
        folder.mkdir()
        for name in ("key", "second"):
            shutil.copy(public_key_path(base / name), folder)
        (folder / "keys.yaml").write_text(
            "schema: assay/trusted_keys/1\nkeys:\n  - {file: key.pub, name: key}\n"
            '  - {file: second.pub, name: second, revoked: {day: "2026-01-01", reason: lost}}\n'
        )
        keys = [part for name in ("key", "second") for part in ("--key", folder / f"{name}.pub")]
        own = ("--signing-key", base / "second", "--accept-policy")
        answer = self.refused(assay, report, *own, *keys)
        assert answer.code == 1
        assert "was revoked" in answer.err

    def test_an_archive(self, assay: Any, base: Path, report: Path) -> None:
        archive = report.with_name("demo_run.tar.xz")
        archive.write_bytes(pack_report(report))
        data = archive.read_bytes()
        answer = assay("sign", archive, "--signing-key", base / "second", *public(base, "key"))
        assert answer.code == 2
        assert "is an archive" in answer.err
        assert archive.read_bytes() == data

    @pytest.mark.parametrize("name", ["none_there", "repo"])
    def test_what_is_no_key_makes_none(
        self, assay: Any, base: Path, report: Path, name: str
    ) -> None:
        answer = self.refused(assay, report, "--signing-key", base / name, *public(base, "key"))
        assert answer.code == 2
        assert not (base / "none_there").exists()

    def test_a_report_that_changes_meanwhile(
        self, assay: Any, base: Path, report: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What is signed is what was verified, not what lies there a moment later."""
        other = seal_payload(b"{}", load_signer(base / "key"))

        def verified(*_: object, **__: object) -> None:
            (report / "attestation.json").write_bytes(other)

        monkeypatch.setattr("assay.cli.commands.sign.check_report", verified)
        answer = assay("sign", report, "--signing-key", base / "second", *public(base, "key"))
        assert answer.code == 1
        assert "was changed while it was verified" in answer.err
        assert (report / "attestation.json").read_bytes() == other

    def test_as_many_as_are_read(self, assay: Any, base: Path, report: Path) -> None:
        path = report / "attestation.json"
        envelope = parse_envelope(path.read_bytes())
        many = [load_or_create_signer(base / f"signer{number}") for number in range(15)]
        path.write_bytes(
            dump_envelope(signed_envelope(envelope.payload, many, envelope.signatures))
        )
        answer = self.refused(assay, report, "--signing-key", base / "second", *public(base, "key"))
        assert answer.code == 2
        assert "carries 16 signatures" in answer.err


def test_a_kill_between_the_files_is_gone_on_from(
    assay: Any, base: Path, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attestation comes last: until then the report verifies as before, and signs again."""
    before = (report / "attestation.json").read_bytes()
    write = adding.write_bytes

    def killed(path: Path, data: bytes) -> None:
        if path.name == "attestation.json":
            raise KeyboardInterrupt
        write(path, data)

    monkeypatch.setattr(adding, "write_bytes", killed)
    arguments = ("--signing-key", base / "second", *public(base, "key"))
    assert assay("sign", report, *arguments).code == 130
    assert (report / "attestation.json").read_bytes() == before
    assert assay("verify", report, *public(base, "key")).code == 0
    monkeypatch.setattr(adding, "write_bytes", write)
    assert assay("sign", report, *arguments).code == 0
    both = public(base, "key", "second")
    assert assay("verify", report, *both, "--threshold", 2).code == 0


def test_verify_asks_for_a_stamp_only_where_it_is_told_to(
    assay: Any, base: Path, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has signatures stamped verifies other people's, too, which have none."""
    monkeypatch.setenv("ASSAY_TIMESTAMP_SERVICE", "http://127.0.0.1:9/")
    monkeypatch.setenv("ASSAY_TIMESTAMP_CA", str(base / "none_there"))
    answer = assay("verify", report, *public(base, "key"))
    assert answer.code == 0, answer.err
    assert assay("sign", report, "--signing-key", base / "second", *public(base, "key")).code == 2


@needs_openssl
def test_a_time_stamp_is_of_one_signature_and_outlives_the_next(
    assay: Any, base: Path, report: Path, tmp_path: Path
) -> None:
    authority = Authority(tmp_path / "authority")
    trusted = ("--timestamp-ca", authority.certificate)
    with served(authority.answer) as url:
        stamps = ("--timestamp-service", url, *trusted)
        own = ("--signing-key", base / "key", *public(base, "key"))
        assert assay("sign", report, *own, *stamps).code == 0  # the stamp alone
        stamp = (report / "timestamp.tsr").read_bytes()
        assert assay("sign", report, *own, *stamps).code == 2
        second = ("--signing-key", base / "second", *public(base, "key"))
        assert assay("sign", report, *second, *stamps).code == 0
    assert (report / "timestamp.tsr").read_bytes() == stamp
    both = public(base, "key", "second")
    answer = assay("verify", report, *both, "--threshold", 2, *trusted)
    assert answer.code == 0
    assert "had signed by 20" in answer.out
    answer = assay("verify", report, *public(base, "second"), *trusted)
    assert answer.code == 1
    assert "is of none of the signatures of trusted keys" in answer.err


@needs_openssl
@pytest.mark.parametrize("planted", [b"nothing", None], ids=["junk", "of another signature"])
def test_a_planted_time_stamp_is_replaced(
    assay: Any, base: Path, report: Path, tmp_path: Path, planted: bytes | None
) -> None:
    authority = Authority(tmp_path / "authority")
    (report / "timestamp.tsr").write_bytes(planted or authority.stamp(b"another signature"))
    trusted = ("--timestamp-ca", authority.certificate)
    with served(authority.answer) as url:
        stamps = ("--timestamp-service", url, *trusted)
        own = ("--signing-key", base / "key", *public(base, "key"))
        assert assay("sign", report, *own, *stamps).code == 0
    assert assay("verify", report, *public(base, "key"), *trusted).code == 0


class TestRevoked:
    """A key that the checkout revoked, however it is given: by its point, not by its file."""

    @pytest.fixture
    def notes(self, base: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        root = base / "checkout"
        folder = root / "config" / "trusted_keys"
        folder.mkdir(parents=True)
        for name in ("key", "second"):
            shutil.copy(public_key_path(base / name), folder)
        (folder / "keys.yaml").write_text(
            "schema: assay/trusted_keys/1\nkeys:\n"
            "  - {file: key.pub, name: First}\n"
            '  - {file: second.pub, name: Second, revoked: {day: "2026-01-01", reason: stolen}}\n'
        )
        shutil.copytree(base / "repo" / "reports" / "templates", root / "reports" / "templates")
        monkeypatch.setattr("assay.cli.checkout.ROOT", root)
        return folder / "keys.yaml"

    @pytest.mark.usefixtures("notes")
    def test_signs_nothing_beside_another_key(self, assay: Any, base: Path, report: Path) -> None:
        before = files(report)
        given = ("--signing-key", base / "second", *public(base, "key"))
        answer = assay("sign", report, *given)
        assert answer.code == 1
        assert "was revoked on 2026-01-01: stolen" in answer.err
        assert files(report) == before

    @pytest.mark.parametrize("command", ["verify", "compare"])
    def test_vouches_for_nothing_by_a_copy(
        self, assay: Any, base: Path, report: Path, notes: Path, command: str
    ) -> None:
        text = notes.read_text()
        day = text[text.index(", revoked") : text.index("}}")] + "}"
        notes.write_text(text.replace(day, "").replace("name: First", f"name: First{day}"))
        shutil.copy(public_key_path(base / "key"), base / "mine.pub")
        where = (report, report, "--all") if command == "compare" else (report, "--accept-policy")
        answer = assay(command, *where, "--key", base / "mine.pub")
        assert "was revoked on 2026-01-01: stolen" in answer.err
        assert answer.code == (1 if command == "verify" else 0)
        assert command == "verify" or "unverified" in answer.out
