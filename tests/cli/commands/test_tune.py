"""``./assay tune``: what it says of choices, and that it writes only where asked."""

from pathlib import Path
from typing import Any

import pytest

from assay.catalog.load import load_catalog
from assay.cli import checkout
from assay.cli.commands import tune
from assay.cli.tuning_choices import Tuned
from assay.evidence.load import load_evidence
from assay.findings.tuning_outcomes import outcomes
from assay.judging.case import Case
from assay.records.tuning import TuningChoice
from tests.report_fixtures import (
    choice,
    write_repository,
    write_run,
    write_tuning,
)


class TestTune:
    """Sweeps are told, and the file is changed where that is asked for."""

    @pytest.fixture
    def tuned(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A repository whose one choice a rival has beaten, its sweep measured."""
        root = write_repository(tmp_path / "repo")
        (root / "config" / "config.yaml").write_text(
            "schema: assay/run/1\nsources: [demo]\ntargets: [h100]\n"
            "runtime: host\nexecutor: local\n"
        )
        slow = choice(variant="demo_bk32", evidence={"comparison": "demo_sweep", "arm": "bk32"})
        write_tuning(root, slow)
        evidence = load_evidence(write_run(root))
        found = outcomes(Case(load_catalog(root), evidence))
        monkeypatch.setattr(checkout, "ROOT", root)
        monkeypatch.setattr(
            tune, "measure_choices", lambda *_: Tuned("measured here", found, evidence, 0.05)
        )
        return root

    def test_a_faster_rival_is_told_and_nothing_is_written(self, assay: Any, tuned: Path) -> None:
        before = (tuned / "config" / "tuning.yaml").read_bytes()
        answer = assay("tune", "--target", "h100")
        assert answer.code == 0
        assert "another is faster" in " ".join(answer.out.split())
        assert "1 choice would change; --write puts it into" in answer.out
        assert (tuned / "config" / "tuning.yaml").read_bytes() == before

    def test_write_hands_over_the_better_choice(
        self, assay: Any, tuned: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        written: list[TuningChoice] = []
        monkeypatch.setattr(tune, "write_choices", lambda _, choices: written.extend(choices))
        answer = assay("tune", "--target", "h100", "--write")
        assert answer.code == 0
        assert [entry.variant for entry in written] == ["demo_bk96"]
        assert "1 of 1 choice changed" in answer.out
