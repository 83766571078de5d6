"""A report holds the lock that its compilers came by."""

import json

import pytest

from assay.building.toolchain import LOCK
from assay.shared.files import sha256_bytes, write_bytes
from assay.verification.sign import public_key_path
from assay.verification.verify import verify
from tests.report_fixtures import signed_report, write_repository, write_run


@pytest.mark.parametrize("same", [True, False])
def test_the_lock_lies_in_the_evidence_where_the_records_name_it(tmp_path, same):
    """A checkout whose lock is another by now has nothing to add."""
    root = write_repository(tmp_path / "repo")
    lock = b"one==1.0\n"
    write_bytes(root / LOCK, lock if same else b"two==2.0\n")
    for path in (write_run(root) / "builds").rglob("*.json"):
        record = json.loads(path.read_bytes())
        record["toolchain"] |= {"wheels": {"one": "1.0"}, "lock_sha256": sha256_bytes(lock)}
        write_bytes(path, (json.dumps(record, indent=2, sort_keys=True) + "\n").encode())
    report = signed_report(root)
    assert (report / "evidence" / LOCK).exists() is same
    assert verify(report, [public_key_path(tmp_path / "key")]).holds
