"""``./assay key``: a key pair is made once, and told of by what others know it by."""

import stat
from pathlib import Path
from typing import Any

from assay.shared.errors import ExitCode


class TestKey:
    def test_a_pair_is_made_and_shown(self, assay: Any, tmp_path: Path) -> None:
        made = assay("key", "new", str(tmp_path / "keys" / "mine"))
        assert made.code == ExitCode.DONE
        assert stat.S_IMODE((tmp_path / "keys" / "mine").stat().st_mode) == 0o600
        told = [
            assay("key", "show", str(tmp_path / "keys" / name)) for name in ("mine", "mine.pub")
        ]
        assert told[0].out == told[1].out
        assert "not by this checkout" in told[0].out

    def test_nothing_is_overwritten(self, assay: Any, tmp_path: Path) -> None:
        (tmp_path / "mine.pub").write_text("other")
        answer = assay("key", "new", str(tmp_path / "mine"))
        assert answer.code == ExitCode.BAD_INPUT
        assert not (tmp_path / "mine").exists()
        assert (tmp_path / "mine.pub").read_text() == "other"

    def test_a_key_that_is_not_there(self, assay: Any, tmp_path: Path) -> None:
        answer = assay("key", "show", str(tmp_path / "none"))
        assert answer.code == ExitCode.BAD_INPUT
        assert "key new" in answer.err
