"""A run whose signature a service stamps: its report says so; a service that is down is told."""

from pathlib import Path

from tests.unmeasured import Unmeasured
from tests.verification.time_authority import Authority, needs_openssl, served

pytestmark = needs_openssl


def test_a_run_is_stamped_once_the_service_answers(tmp_path: Path) -> None:
    """What was made before it was down is kept; nothing is signed without the stamp."""
    authority = Authority(tmp_path / "authority")
    run = Unmeasured(tmp_path)
    certificates = {"ASSAY_TIMESTAMP_CA": str(authority.certificate)}
    with served(lambda _: b"", status=503) as url:
        ended = run.reproduce(ASSAY_TIMESTAMP_SERVICE=url, **certificates)
        assert ended.returncode == 3, ended.stderr
        assert f"{url} gives no time stamp: it answers 503" in ended.stderr
        assert not (run.report / "attestation.json").exists()
    with served(authority.answer) as url:
        ended = run.reproduce(ASSAY_TIMESTAMP_SERVICE=url, **certificates)
        assert ended.returncode == 0, ended.stderr
    assert "timestamp: " in (run.run_dir / "verified.txt").read_text()
    (command,) = [line for line in ended.stdout.splitlines() if line.startswith("verify: ")]
    assert command.endswith(f" --timestamp-ca {authority.certificate}")
    ended = run.assay(*command.split()[2:], cwd=run.root)
    assert ended.returncode == 0, ended.stderr
    assert "Made-up TSA" in ended.stdout
