"""Names and texts that an enemy chose reach no terminal and no page as they are."""

import hashlib
import json
import re
import shutil
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from assay.base.printable import shown
from assay.cli import checkout, console
from assay.report.render import render
from assay.shared.files import sha256_file
from assay.verification.attestation import dump_statement, load_signer, parse_statement
from assay.verification.envelope import parse_envelope, seal
from tests.report_fixtures import write_run

HOSTILE = {
    "ESC": "\x1b",
    "CSI": "\x1b[2J\x1b[31m",
    "OSC 8": "\x1b]8;;evil.example\x07click\x1b]8;;\x07",
    "BEL": "\x07",
    "CR": "\rok  signature",
    "newline": "\nok  signature",
    "U+202E": "\u202egnp",
    "U+2066": "\u2066x\u2069",
    "zero width": "a\u200bb\ufeff",
}


@pytest.fixture
def verify(assay: Any, own_report: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Verify a report by the key that signed the small one."""
    monkeypatch.setattr(checkout, "ROOT", own_report.parents[1])
    return lambda report: assay("verify", report, "--key", own_report.parents[2] / "key.pub")


def assert_harmless(answer: Any, hostile: str) -> None:
    text = answer.out + answer.err
    assert shown(text) == text
    assert hostile not in text
    assert not any(line.startswith("ok  signature") for line in text.splitlines()[:1])


@pytest.mark.parametrize("kind", HOSTILE)
class TestTerminal:
    def test_the_name_of_a_directory(self, kind: str, own_report: Path, verify: Any) -> None:
        named = own_report.with_name(f"run{HOSTILE[kind]}")
        own_report.rename(named)
        (named / "report.md").write_text("other")
        changed, absent = verify(named), verify(f"{named}x")
        assert (changed.code, absent.code) == (1, 2)
        assert_harmless(changed, HOSTILE[kind])
        assert_harmless(absent, HOSTILE[kind])
        assert len(absent.err.splitlines()) == 1

    def test_a_file_name_in_a_signed_manifest(self, kind, own_report, verify):
        report = own_report
        path = report / "manifest.json"
        document = json.loads(path.read_bytes())
        document["files"][0]["path"] = f"evidence/{HOSTILE[kind]}"
        path.write_text(json.dumps(document))
        statement = parse_statement(
            parse_envelope((report / "attestation.json").read_bytes()).payload
        )
        digest = statement.subject[0].digest.model_copy(update={"sha256": sha256_file(path)})
        subject = statement.subject[0].model_copy(update={"digest": digest})
        sealed = seal(
            dump_statement(statement.model_copy(update={"subject": (subject,)})),
            load_signer(report.parents[2] / "key"),
        )
        (report / "attestation.json").write_bytes(sealed)
        answer = verify(report)
        assert answer.code == 1
        assert_harmless(answer, HOSTILE[kind])

    def test_the_explanation_of_a_verdict(self, kind, capsys):
        console.say(f"note {HOSTILE[kind]}")
        console.show_json({"reason": HOSTILE[kind]})
        console.note(f"{HOSTILE[kind]}")
        printed = capsys.readouterr()
        assert shown(printed.out + printed.err) == printed.out + printed.err


@pytest.mark.parametrize("kind", HOSTILE)
def test_no_page_holds_them(kind: str, report: Path, tmp_path: Path) -> None:
    """As a claim's statement and note, and a source's title, say them."""
    root = _with_claim(report.parents[1], tmp_path, HOSTILE[kind])
    run = write_run(root, "hostile")
    render(root, run, tmp_path / "out")
    for name in ("report.html", "appendix.html", "report.md"):
        text = (tmp_path / "out" / name).read_bytes().decode()
        assert shown(text) == text
        assert name != "report.html" or "Sparse kernel" in text
        if not HOSTILE[kind].startswith("\n"):
            assert HOSTILE[kind] not in text


def test_the_pages_allow_nothing_from_outside_and_one_script_of_ours(report: Path) -> None:
    page, appendix = ((report / name).read_text() for name in ("report.html", "appendix.html"))
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    rest = "base-uri 'none'; form-action 'none'"
    for text, scripts in ((page, f"script-src 'sha256-{digest}'; "), (appendix, "")):
        policy = f"default-src 'none'; style-src 'unsafe-inline'; {scripts}{rest}"
        head = text.split("</head>")[0]
        assert f'<meta http-equiv="Content-Security-Policy" content="{policy}">' in head
        assert head.index("Content-Security-Policy") < head.index("<style>")
        assert text.count("<script") == bool(scripts)
        for word in ("<iframe", "<img", "<link", "<object", "<embed", "@import", "javascript:"):
            assert word not in text
        assert not re.search(r"https?:|url\((?!#)", text)


def _with_claim(repository: Path, tmp_path: Path, hostile: str) -> Path:
    """A repository whose claim and source say something hostile, by YAML's own escapes."""
    root = tmp_path / "hostile"
    shutil.copytree(repository, root, ignore=shutil.ignore_patterns("results", "demo_run"))
    path = root / "config" / "claims" / "demo.yaml"
    spelled = json.dumps(hostile)[1:-1]
    text = path.read_text()
    text = text.replace("Sparse kernel ", f"Sparse kernel {spelled}")
    text = text.replace("A demo <source>", f"A demo {spelled}<source>")
    text = text.replace("A note with ", f"A note {spelled} with ")
    path.write_text(text)
    return root
