"""What ``./assay judge`` asks for; the run itself is ``reproduce``'s."""

from pathlib import Path
from typing import Any

import pytest

from assay.base.errors import BadInput, CheckFailed
from assay.catalog.model import Catalog
from assay.cli.commands import judge as command
from assay.pipeline.request import Options
from assay.verification.report_archive import opened_report, report_name

ROOT = Path(__file__).resolve().parents[3]
REPORT = ROOT / "reports" / "published" / "h200_20261123_bsr_bsr.tar.xz"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Options]:
    """The options of each run that would be started."""
    noted: list[Options] = []

    def note(catalog: Catalog, options: Options, **_: Any) -> None:
        noted.append(options)

    monkeypatch.setattr(command, "finish", note)
    return noted


def test_it_asks_for_what_the_report_had(asked: list[Options]) -> None:
    command.judge(REPORT)
    command.judge(REPORT, run="again")
    first, again = asked
    assert (first.run, again.run) == (f"{report_name(REPORT)}_judged", "again")
    assert (first.recorded, first.targets) == ((REPORT,), ("h200",))
    assert first.judges_only
    assert first.sources


def test_what_is_not_as_it_was_signed_is_not_judged(asked: list[Options], tmp_path: Path) -> None:
    with opened_report(REPORT) as folder:
        copy = folder.rename(tmp_path / folder.name)
        (copy / "report.md").write_text("another text")
        with pytest.raises(CheckFailed) as caught:
            command.judge(copy)
    assert caught.value.exit_code == 1
    with pytest.raises(BadInput):
        command.judge(tmp_path / "nothing")
    assert asked == []
