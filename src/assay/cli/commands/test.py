"""``./assay test``: run the test suite."""

import os
import sys

import typer

from assay.cli import checkout


def test(context: typer.Context) -> None:
    """Run the whole test suite; further arguments go to pytest."""
    import pytest  # noqa: PLC0415 - only installed for tests

    os.chdir(checkout.ROOT)
    sys.exit(pytest.main(context.args))
