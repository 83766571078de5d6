"""A real Chromium for tests of the report's pages: what it takes, and how it is opened."""

import importlib.util
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.fetch_axe import place

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def missing() -> str | None:
    """Return what it takes to open pages and ask axe about them; None where all is here."""
    if shutil.which("chromium") is None:
        return "apt-get install chromium"
    if importlib.util.find_spec("playwright") is None:
        return "./assay test installs playwright"
    if not place().is_file():
        return "python3 tests/fetch_axe.py fetches axe-core"
    return None


@contextmanager
def chromium() -> Iterator["Browser"]:
    """Open Debian's Chromium without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        try:
            yield browser
        finally:
            browser.close()
