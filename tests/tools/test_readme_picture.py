"""README's picture of a report."""

from pathlib import Path

from PIL import Image
from tools.readme_picture import PAGE, PICTURE, newest_folder

from assay.shared.files import sha256_file

ROOT = Path(__file__).resolve().parents[2]


def test_the_picture_shows_the_newest_report() -> None:
    """``python -m tools.readme_picture`` makes it anew."""
    with Image.open(ROOT / PICTURE) as picture:
        assert picture.text[PAGE] == sha256_file(newest_folder(ROOT) / PAGE)
