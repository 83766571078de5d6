"""What doctor finds on a machine, part by part."""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """The state of one part."""

    OK = "here"
    WRONG = "wrong"
    """Here, and of no use as it is."""
    ABSENT = "not here"


@dataclass(frozen=True)
class Finding:
    """One part of the machine."""

    part: str
    """Its name, which ``doctor --fix`` takes."""
    state: State
    found: str = ""
    """Its version, or what is wrong with it."""
    fix: str = ""
    """The shell line that gets it; empty where none does."""
