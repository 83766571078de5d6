"""The README's picture of a report: the first screen of the newest published one, as a PNG.

``python -m tools.readme_picture`` writes ``docs/report.png`` by Debian's Chromium. Fonts differ, so
its bytes are compared with nothing; it names the digest of its page, and a test compares that.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from assay.base.errors import BadInput
from assay.evidence.load import read_contents
from assay.report.render import render_contents
from assay.shared.files import sha256_file
from assay.verification.report_archive import is_archive
from assay.verification.trust import published_reports

SIZE = (1180, 770)
PICTURE = "docs/report.png"
PAGE = "report.html"
"""What it shows; the picture's text of this name is the page's SHA-256."""


def newest_folder(root: Path) -> Path:
    """Return the newest published report that is a folder. Raises BadInput without one."""
    newest = next((each for each in published_reports(root) if not is_archive(each)), None)
    if newest is None:
        raise BadInput("reports/published holds no report that is a folder")
    return newest


def main() -> None:
    """Render the newest published report that is a folder, and take its picture."""
    root = Path(__file__).resolve().parents[1]
    newest = newest_folder(root)
    place = root / PICTURE
    with tempfile.TemporaryDirectory() as scratch:
        for name, text in render_contents(root, read_contents(newest)).items():
            Path(scratch, name).write_text(text, encoding="utf-8")
        command = [
            "chromium", "--headless=new", "--no-sandbox", "--hide-scrollbars",
            f"--user-data-dir={scratch}/profile", f"--window-size={SIZE[0]},{SIZE[1]}",
            f"--screenshot={place}", f"file://{scratch}/report.html",
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    note = PngInfo()
    note.add_text(PAGE, sha256_file(newest / PAGE))
    with Image.open(place) as taken:
        taken.convert("RGB").save(place, optimize=True, pnginfo=note)
    sys.stdout.write(f"{place}: {place.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
