"""The time that a signer may state in place of the clock's: the variable SOURCE_DATE_EPOCH."""

import os
import re

from assay.base.errors import BadInput
from assay.base.printable import shortened

NAME = "SOURCE_DATE_EPOCH"
SECONDS = re.compile(r"[0-9]{1,11}|1[0-9]{11}|2[0-4][0-9]{10}")
"""Since 1970, up to some year before 10000, of which dates of four digits end."""
LONGEST_QUOTED = 40


def source_date() -> int | None:
    """Return the seconds that the variable names; None where it is not set.

    Raises BadInput for what is no such number, by which libraries fail at their import, too.
    """
    text = os.environ.get(NAME)
    if text is None:
        return None
    if SECONDS.fullmatch(text) is None:
        raise BadInput(
            f"{NAME} is {shortened(text, LONGEST_QUOTED)!r}, not a whole number of seconds since "
            "1970 before the year 10000"
        )
    return int(text)
