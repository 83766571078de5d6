"""A key that the checkout revoked vouches for nothing, by whatever file it is given."""

import shutil

KEYS = """
schema: assay/trusted_keys/1
keys:
  - {file: key.pub, name: First, revoked: {day: "2026-01-01", reason: stolen}}
  - {file: other.pub, name: Second}
"""


def test_verify_refuses_it(assay, report, key, tmp_path, monkeypatch):
    folder = tmp_path / "config" / "trusted_keys"
    folder.mkdir(parents=True)
    shutil.copy(report / "signer.pub", folder / "key.pub")
    assay("key", "new", tmp_path / "other")
    shutil.copy(tmp_path / "other.pub", folder)
    (folder / "keys.yaml").write_text(KEYS)
    shutil.copytree(report.parents[1] / "reports" / "templates", tmp_path / "reports/templates")
    monkeypatch.setattr("assay.cli.checkout.ROOT", tmp_path)
    answer = assay("verify", report, "--accept-policy", *key)
    assert answer.code == 1
    assert "was revoked on 2026-01-01: stolen" in answer.out
