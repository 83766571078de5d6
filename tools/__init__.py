"""Programs for this project's maintainers: ``.venv/bin/python -m tools.NAME`` from its root."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
