"""Verification: a sound report passes, and every kind of tampering is named."""

import base64
import json
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from assay.base.errors import BadInput, CheckFailed
from assay.base.io import dump_record, read_record, write_record
from assay.evidence.stages import benchmark_path, platform_path
from assay.records.attestation import DigestSet
from assay.records.measurements import BenchmarkRecord
from assay.records.plan import Plan
from assay.records.verdicts import Status
from assay.report.render import render, texts_of
from assay.shared.files import sha256_bytes, write_bytes
from assay.statistics.shared_summaries import SharedSummaries
from assay.verification import signed_files
from assay.verification import verify as verifying
from assay.verification.attestation import (
    dump_statement,
    load_signer,
    parse_statement,
    public_pem,
    seal,
)
from assay.verification.envelope import dump_envelope, parse_envelope, signed_envelope
from assay.verification.manifest import build_manifest
from assay.verification.origin import origin_folder, target_paths
from assay.verification.sign import load_or_create_signer, public_key_path, sign
from assay.verification.verify import Renderer, VerificationResult, verify
from tests.report_fixtures import (
    COMMIT,
    provision,
    signed_report,
    write_repository,
    write_run,
    write_verdicts,
)

FILES = [
    "report.html",
    "report.md",
    "verdicts.json",
    "manifest.json",
    "attestation.json",
    "signer.pub",
    "evidence/plan.json",
    "evidence/pipeline.json",
    "evidence/inspections.json",
    "evidence/builds/sm_90a/demo_bk32.json",
    "evidence/config/claims/demo.yaml",
    "evidence/config/judging.yaml",
    "evidence/kernels/demo/kernel.yaml",
    "evidence/h100/platform.json",
    "evidence/h100/correctness/demo_sweep.json",
    "evidence/h100/benchmark/demo_sweep.json.gz",
    "evidence/h100/profile/demo_sweep.bk32.json.gz",
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a signed report, made once; tests work on copies."""
    base = tmp_path_factory.mktemp("made")
    signed_report(write_repository(base / "repo"))
    return base


@pytest.fixture
def base(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "base"))


@pytest.fixture
def report(base: Path) -> Path:
    return base / "repo" / "reports" / "demo_run"


def check(report: Path, key: str = "key") -> VerificationResult:
    return verify(report, [public_key_path(report.parents[2] / key)])


def edit(path: Path, change: Callable[[Any], None]) -> None:
    """Change a JSON document in place, in the records' own spelling."""
    document = json.loads(path.read_bytes())
    change(document)
    text = json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8")


def failure(report: Path, *names: str, renderer: Renderer | None = None) -> str:
    """The message of a failed verification, in which each of ``names`` must be a failed check."""
    with pytest.raises(CheckFailed) as raised:
        verify(report, [public_key_path(report.parents[2] / "key")], renderer=renderer)
    lines = [line.strip().split(": ")[0] for line in str(raised.value).splitlines()[1:]]
    failed = {name for line in lines for name in line.split(", ")}
    assert set(names) <= failed
    return str(raised.value)


class TestSoundReport:
    """Nothing was touched."""

    def test_passes_every_check(self, report: Path) -> None:
        result = check(report)
        assert result.passed
        assert [entry.name for entry in result.checks] == [
            "signature", "statement", "shape", "contents",
            "evidence", "declared", "origins", "complete", "machine", "gate", "problems",
            "binaries", "turns", "samples", "windows", "verdicts",
        ]  # fmt: skip
        assert result.run == "demo_run"

    def test_passes_elsewhere(self, report: Path, tmp_path: Path) -> None:
        """A report is self-contained: neither its place nor its repository matters."""
        moved = Path(shutil.copytree(report, tmp_path / "elsewhere"))
        assert verify(moved, [public_key_path(report.parents[2] / "key")]).passed

    def test_a_copy_of_another_name_is_a_note(self, report: Path, tmp_path: Path) -> None:
        copy = shutil.copytree(report, tmp_path / "other_run")
        result = verify(copy, [public_key_path(report.parents[2] / "key")])
        assert result.passed
        assert "lies as 'other_run'" in " ".join(result.notes)

    @pytest.mark.parametrize("place", ["reports", "reports/published"])
    def test_another_runs_name_among_the_reports_is_a_failure(
        self, report: Path, base: Path, place: str
    ) -> None:
        (base / "repo" / place).mkdir(exist_ok=True)
        moved = report.rename(base / "repo" / place / "other_run")
        with pytest.raises(CheckFailed) as raised:
            verify(moved, [public_key_path(base / "key")], repository=base / "repo")
        assert raised.value.code == "run-name"

    def test_one_trusted_key_of_several_is_enough(self, report: Path) -> None:
        base = report.parents[2]
        load_or_create_signer(base / "other")
        write_bytes(base / "other.pub", _public(base / "other"))
        assert verify(report, [base / "other.pub", base / "key.pub"]).passed

    def test_changed_repository_claims_are_a_note(self, report: Path, base: Path) -> None:
        keys = [base / "key.pub"]
        assert verify(report, keys, repository=base / "repo").notes == ()
        claims = base / "repo" / "config" / "claims" / "demo.yaml"
        claims.write_text(claims.read_text().replace("value: 200", "value: 201"))
        result = verify(report, keys, repository=base / "repo")
        assert result.passed
        assert "demo.yaml" in result.notes[0]


class TestFiles:
    """The directory is exactly what was signed."""

    @pytest.mark.parametrize("path", FILES)
    @pytest.mark.parametrize("where", [0.0, 0.5, 1.0])
    def test_any_flipped_bit_is_found(self, report: Path, path: str, where: float) -> None:
        file = report / path
        data = bytearray(file.read_bytes())
        data[round(where * (len(data) - 1))] ^= 1
        file.write_bytes(data)
        failure(report)

    @pytest.mark.parametrize("path", FILES)
    def test_a_missing_file_is_found(self, report: Path, path: str) -> None:
        (report / path).unlink()
        early = {"manifest.json": "statement", "attestation.json": "signature"}
        early["signer.pub"] = "signature"
        failure(report, early.get(path, "shape"))

    @pytest.mark.parametrize("path", FILES)
    def test_an_appended_newline_is_found(self, report: Path, path: str) -> None:
        with (report / path).open("ab") as stream:
            stream.write(b"\n")
        failure(report)

    def test_an_extra_file_is_found(self, report: Path) -> None:
        (report / "evidence" / "extra.json").write_text("{}")
        assert "evidence/extra.json is not listed" in failure(report, "shape")

    def test_an_empty_folder_is_found(self, report: Path) -> None:
        (report / "evidence" / "empty").mkdir()
        assert "the folder is empty" in failure(report, "shape")

    def test_a_link_is_found_even_to_equal_content(self, report: Path, tmp_path: Path) -> None:
        target = Path(shutil.copy(report / "report.md", tmp_path / "same"))
        (report / "report.md").unlink()
        (report / "report.md").symlink_to(target)
        assert "report.md: is a link" in failure(report, "shape")

    def test_a_linked_folder_is_found(self, report: Path, tmp_path: Path) -> None:
        shutil.move(report / "evidence", tmp_path / "evidence")
        (report / "evidence").symlink_to(tmp_path / "evidence")
        assert "evidence: is a link" in failure(report, "shape")

    @pytest.mark.parametrize("path", ["/etc/hostname", "../../config/judging.yaml", "./report.md"])
    def test_a_manifest_path_that_leaves_the_report_is_found(self, report: Path, path: str) -> None:
        def change(manifest: Any) -> None:
            manifest["files"][0]["path"] = path

        edit(report / "manifest.json", change)
        _seal_again(report)
        message = failure(report, "shape")
        assert path in message
        assert "statement: " not in message

    def test_a_malformed_manifest_is_a_failure(self, report: Path) -> None:
        (report / "manifest.json").write_text('{"files": ')
        _seal_again(report)
        assert "statement: manifest.json: is no valid JSON" in failure(report, "statement")

    def test_unchecked_parts_do_not_read_as_passed(self, report: Path) -> None:
        (report / "report.md").unlink()
        message = failure(report, "shape", "contents", "verdicts")
        assert message.count("not checked, because") == 1, "one line, however many checks"


class TestSignature:
    """Only a trusted key's signature over this manifest counts."""

    def test_an_unknown_key_is_named(self, report: Path) -> None:
        """The directory's own key is never trusted, however well it fits."""
        base = report.parents[2]
        keyid = sign(report, base / "stranger")
        message = failure(report, "signature")
        assert f"signed by key {keyid}, which is not trusted" in message

    def test_nothing_that_a_stranger_signed_is_parsed(
        self, report: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def parse(*_: object) -> None:
            raise AssertionError("parsed")

        sign(report, report.parents[2] / "stranger")
        for name in ("load_catalog", "load_evidence", "read_record"):
            monkeypatch.setattr(verifying, name, parse)
        monkeypatch.setattr(signed_files, "parse_record", parse)
        monkeypatch.setattr(signed_files, "walk", parse)
        message = failure(report, "signature")
        assert message.count("not checked, because what nobody vouched for is not read") == 1
        assert "parsed" not in message

    def test_a_signature_of_another_key_under_the_trusted_id(self, report: Path) -> None:
        base = report.parents[2]
        trusted = load_signer(base / "key").public_key.keyid
        sign(report, base / "stranger")

        def change(envelope: Any) -> None:
            envelope["signatures"][0]["keyid"] = trusted

        edit(report / "attestation.json", change)
        assert "did not sign these bytes" in failure(report, "signature")

    def test_a_stripped_signature(self, report: Path) -> None:
        edit(report / "attestation.json", lambda envelope: envelope.update(signatures=[]))
        assert "carries no signature" in failure(report, "signature")

    def test_a_swapped_payload(self, report: Path) -> None:
        def change(envelope: Any) -> None:
            statement = json.loads(base64.b64decode(envelope["payload"]))
            statement["predicate"]["verdicts"]["reproduced"] = 99
            text = json.dumps(statement, sort_keys=True, separators=(",", ":"))
            envelope["payload"] = base64.b64encode(text.encode()).decode()

        edit(report / "attestation.json", change)
        assert "did not sign these bytes" in failure(report, "signature")

    def test_another_payload_type(self, report: Path) -> None:
        edit(report / "attestation.json", lambda e: e.update(payloadType="text/plain"))
        assert "the payload type is 'text/plain'" in failure(report, "signature")

    @pytest.mark.parametrize("text", ["", "[]", "{}", '"x"', "null", '{"payload": 3}', "[" * 5000])
    def test_a_malformed_envelope_is_a_failure(self, report: Path, text: str) -> None:
        (report / "attestation.json").write_text(text)
        assert "malformed" in failure(report, "signature")

    def test_another_spelling_of_the_same_envelope(self, report: Path) -> None:
        document = json.loads((report / "attestation.json").read_bytes())
        (report / "attestation.json").write_text(json.dumps(document))
        assert "bytes were changed" in failure(report, "signature")

    def test_another_reports_attestation(self, report: Path, base: Path) -> None:
        other = signed_report(base / "repo", "other_run", base / "key")
        shutil.copy(other / "attestation.json", report / "attestation.json")
        message = failure(report, "statement")
        assert "about another manifest" in message

    def test_a_replaced_public_key_file(self, report: Path) -> None:
        load_or_create_signer(report.parents[2] / "stranger")
        write_bytes(report / "signer.pub", _public(report.parents[2] / "stranger"))
        assert "signer.pub is not the key that signed" in failure(report, "signature")

    def test_a_statement_that_counts_other_verdicts(self, report: Path) -> None:
        """Even a trusted key must state what the files say."""
        key = load_signer(report.parents[2] / "key")
        statement = parse_statement(parse_envelope((report / "attestation.json").read_bytes()))
        predicate = statement.predicate.model_copy(update={"verdicts": {}})
        other = statement.model_copy(update={"predicate": predicate})
        write_bytes(report / "attestation.json", seal(other, key))
        assert "counts other verdicts" in failure(report, "declared")

    def test_a_statement_that_counts_other_measurements(self, report: Path) -> None:
        key = load_signer(report.parents[2] / "key")
        statement = parse_statement(parse_envelope((report / "attestation.json").read_bytes()))
        assert statement.predicate.counts is not None
        counts = {**statement.predicate.counts, "published": {Status.REPRODUCED: 99}}
        predicate = statement.predicate.model_copy(update={"counts": counts})
        other = statement.model_copy(update={"predicate": predicate})
        write_bytes(report / "attestation.json", seal(other, key))
        assert "counts other measurements" in failure(report, "declared")

    def test_a_statement_from_before_counts_none_and_verifies(self, report: Path) -> None:
        key = load_signer(report.parents[2] / "key")
        statement = parse_statement(parse_envelope((report / "attestation.json").read_bytes()))
        predicate = statement.predicate.model_copy(update={"counts": None})
        old = statement.model_copy(update={"predicate": predicate})
        payload = json.loads(dump_statement(old))
        del payload["predicate"]["counts"]
        envelope = signed_envelope(json.dumps(payload).encode(), [key])
        write_bytes(report / "attestation.json", dump_envelope(envelope))
        assert verify(report, [report / "signer.pub"]).passed


class TestTexts:
    """The readable texts are what this version renders from the evidence."""

    @staticmethod
    def renderer(base: Path, commit: str | None = COMMIT, clean: bool = True) -> Renderer:
        return Renderer(partial(texts_of, base / "repo"), commit, clean)

    @staticmethod
    def rewrite(report: Path, name: str) -> None:
        """Praise in the text, signed by the trusted key."""
        text = (report / name).read_text()
        (report / name).write_text(text.replace("Demo", "Wonderful"))
        sign(report, report.parents[2] / "key")

    def verified(self, report: Path, **changes: Any) -> VerificationResult:
        base = report.parents[2]
        return verify(report, [base / "key.pub"], renderer=self.renderer(base, **changes))

    def test_an_untouched_report_passes_with_one_check_more(self, report: Path) -> None:
        result = self.verified(report)
        assert result.checks[-1].name == "texts"
        assert result.notes == ()

    @pytest.mark.parametrize("name", ["report.html", "report.md"])
    def test_a_rewritten_text_fails_though_the_key_is_trusted(
        self, report: Path, name: str
    ) -> None:
        self.rewrite(report, name)
        assert check(report).passed, "without a renderer nothing tells"
        base = report.parents[2]
        assert f"{name}: the evidence" in failure(report, "texts", renderer=self.renderer(base))

    def test_another_version_that_renders_the_same_is_a_passed_check(self, report: Path) -> None:
        assert self.verified(report, commit="f" * 40).checks[-1].name == "texts"

    @pytest.mark.parametrize("changes", [{"commit": "f" * 40}, {"commit": None}, {"clean": False}])
    def test_another_version_that_renders_otherwise_is_a_note(
        self, report: Path, changes: dict[str, Any]
    ) -> None:
        self.rewrite(report, "report.md")
        result = self.verified(report, **changes)
        assert "texts" not in {entry.name for entry in result.checks}
        assert "report.md: the evidence renders to other bytes" in result.notes[0]
        assert COMMIT in result.notes[0]

    def test_a_renderer_that_fails_is_a_note_or_a_failure(self, report: Path) -> None:
        def broken(report: Path, summaries: SharedSummaries) -> tuple[str, str]:
            raise KeyError("a field of tomorrow")

        keys = [report.parents[2] / "key.pub"]
        result = verify(report, keys, renderer=Renderer(broken, "f" * 40, True))
        assert "cannot be rendered again: KeyError" in result.notes[0]
        failure(report, "texts", renderer=Renderer(broken, COMMIT, True))


class TestVerdicts:
    """The judge is run again; a signature does not make a verdict true."""

    def test_an_edited_sample_is_found_by_digest(self, report: Path) -> None:
        _scale_samples(report)
        assert "demo_sweep.json.gz has" in failure(report, "contents", "verdicts")

    def test_an_edited_sample_with_a_new_manifest_breaks_the_signature(self, report: Path) -> None:
        _scale_samples(report)
        write_bytes(report / "manifest.json", dump_record(build_manifest(report, "demo_run")))
        failure(report, "statement", "verdicts")

    def test_an_edited_sample_signed_by_the_trusted_key_contradicts_the_verdicts(
        self, report: Path
    ) -> None:
        _scale_samples(report)
        sign(report, report.parents[2] / "key")
        message = failure(report, "verdicts")
        assert "demo_rate on h100" in message
        assert not re.search(r"\n  (signature|contents|shape): ", message)

    def test_edited_verdicts_signed_by_the_trusted_key_are_found(self, report: Path) -> None:
        def change(verdicts: Any) -> None:
            verdicts["verdicts"][0]["explanation"] = "All is well."

        edit(report / "verdicts.json", change)
        sign(report, report.parents[2] / "key")
        message = failure(report, "verdicts")
        assert "explanation: given All is well., recomputed " in message

    def test_malformed_evidence_is_a_failure(self, report: Path) -> None:
        (report / "evidence" / "plan.json").write_text("{}")
        sign(report, report.parents[2] / "key")
        message = failure(report, "evidence", "verdicts")
        assert "not checked, because the evidence cannot be read" in message

    def test_broken_compression_is_a_failure(self, report: Path) -> None:
        (report / "evidence" / benchmark_path("h100", "demo_sweep")).write_bytes(b"\x1f\x8bnothing")
        failure(report, "contents", "evidence")


class TestOrigins:
    """Measurements from an earlier report are those that it signed."""

    @pytest.fixture
    def second(self, base: Path, report: Path) -> Path:
        """A report of a machine without a GPU that takes h100 over from ``report``."""
        return _second(base, report)

    def test_a_faithful_copy_passes(self, second: Path) -> None:
        details = {entry.name: entry.detail for entry in check(second).checks}
        assert details["origins"].startswith("measurements of h100")
        for name in ("report.md", "report.html"):
            page = (second / name).read_text()
            assert "Records of a signed report, judged again by " in page
            assert " (reports/demo_run). No figure was measured on this machine." in page

    def test_an_edited_copy_is_found_though_the_key_is_trusted(self, second: Path) -> None:
        path = second / "evidence" / platform_path("h100")
        edit(path, lambda platform: platform["device"].update(driver="999.0"))
        verdicts = json.loads((second / "verdicts.json").read_bytes())
        for verdict in verdicts["verdicts"]:
            if verdict["measured_on"]:
                verdict["measured_on"]["driver"] = "999.0"
        edit(second / "verdicts.json", lambda document: document.update(verdicts))
        sign(second, second.parents[2] / "key")
        message = failure(second, "origins")
        assert "platform.json is not the file that report 'demo_run' signed" in message

    def test_a_record_left_out_is_found(self, base: Path, report: Path) -> None:
        left_out = benchmark_path("h100", "demo_sweep")
        second = _second(base, report, leave_out=left_out)
        assert f"{left_out} was left out" in failure(second, "origins")

    def test_an_origin_signed_by_a_stranger_is_refused(self, base: Path, report: Path) -> None:
        sign(report, base / "stranger")
        second = _second(base, report)
        assert "origin: signed by key" in failure(second, "origins")

    def test_a_missing_origin_is_refused(self, second: Path) -> None:
        shutil.rmtree(second / "evidence" / origin_folder("h100"))
        sign(second, second.parents[2] / "key")
        assert "of its origin are missing" in failure(second, "origins")

    def test_an_origin_manifest_of_another_report_is_refused(self, second: Path) -> None:
        folder = second / "evidence" / origin_folder("h100")
        edit(folder / "manifest.json", lambda manifest: manifest.update(run="renamed"))
        sign(second, second.parents[2] / "key")
        assert "about another manifest" in failure(second, "origins")


class TestUsage:
    """Bad usage is told apart from a failed check."""

    def test_no_such_directory(self, tmp_path: Path) -> None:
        with pytest.raises(BadInput, match="no such report directory"):
            verify(tmp_path / "none", [])

    def test_no_key(self, report: Path) -> None:
        with pytest.raises(BadInput, match="no public key"):
            verify(report, [])

    def test_a_file_that_is_no_key(self, report: Path) -> None:
        with pytest.raises(BadInput, match="is not a public key"):
            verify(report, [report / "report.md"])


def _seal_again(report: Path) -> None:
    """Have the trusted key sign the manifest as it stands, as a careless signer would."""
    statement = parse_statement(parse_envelope((report / "attestation.json").read_bytes()))
    digest = DigestSet(sha256=sha256_bytes((report / "manifest.json").read_bytes()))
    subject = (statement.subject[0].model_copy(update={"digest": digest}),)
    other = statement.model_copy(update={"subject": subject})
    write_bytes(report / "attestation.json", seal(other, load_signer(report.parents[2] / "key")))


def _public(key: Path) -> bytes:
    return public_pem(load_signer(key).public_key)


def _scale_samples(report: Path) -> None:
    """Make every sample 30 % faster."""
    path = report / "evidence" / benchmark_path("h100", "demo_sweep")
    record = read_record(BenchmarkRecord, path)
    document = record.model_dump(mode="json", by_alias=True)
    for process in document["processes"]:
        for block in process["blocks"]:
            for turn in block["turns"]:
                turn["times_ms"] = [round(0.7 * time, 6) for time in turn["times_ms"]]
    write_record(BenchmarkRecord.model_validate_json(json.dumps(document)), path)


def _second(base: Path, report: Path, leave_out: str | None = None) -> Path:
    """Render and sign a run that takes the target h100 over from ``report``."""
    root = base / "repo"
    first = read_record(Plan, report / "evidence" / "plan.json").targets[0]
    paths = tuple(target_paths(first))
    recorded = provision(
        kind="recorded",
        recorded_in="reports/demo_run",
        recorded_paths=paths,
        detail="taken from reports/demo_run",
    )
    run_dir = write_run(root, "second_run", [recorded])
    for path in paths:
        if path != leave_out:
            write_bytes(run_dir / path, (report / "evidence" / path).read_bytes())
    for name in ("manifest.json", "attestation.json"):
        write_bytes(run_dir / origin_folder("h100") / name, (report / name).read_bytes())
    write_verdicts(root, run_dir)
    second = root / "reports" / "second_run"
    render(root, run_dir, second)
    sign(second, base / "key")
    return second
