"""A checkout with one claim that no GPU here answers: a whole run of it takes seconds."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from assay.verification.sign import public_key_path
from tests.library_checkout import REPOSITORY, copy_code, write_config


class Unmeasured:
    """The checkout, and ``./assay`` typed by somebody whose home is elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = write_config(folder / "checkout", ["h100"], ["duel"])
        copy_code(self.root)
        shutil.copy(REPOSITORY / "assay", self.root)
        (self.root / "config" / "trusted_keys").mkdir()
        self.run_dir = self.root / "results" / "first"
        self.report = self.root / "reports" / "first"
        self.key = public_key_path(folder / "home" / ".config" / "assay" / "signing_key.pem")

    def assay(
        self, *arguments: object, cwd: Path | None = None, **environ: str
    ) -> subprocess.CompletedProcess[str]:
        """Type ``./assay`` by its path, with ``environ`` in the environment."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("ASSAY_", "PYTHON"))}
        own = {
            "ASSAY_NO_VENV": "1",
            "ASSAY_PYTHON": sys.executable,
            "ASSAY_LOCK_DIR": str(self.folder / "locks"),
            "HOME": str(self.folder / "home"),
        }
        return subprocess.run(
            [self.root / "assay", *map(str, arguments)], cwd=cwd or self.folder,
            env=kept | environ | own, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip

    def reproduce(
        self, *more: object, cwd: Path | None = None, **environ: str
    ) -> subprocess.CompletedProcess[str]:
        """Start the run: every step but those that measure."""
        words = ("reproduce", "--run", "first", "--cores", 1)
        return self.assay(*words, *more, cwd=cwd, **environ)
