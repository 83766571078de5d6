"""A label and what stands under it, as pages print them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fact:
    """A label and what stands under it."""

    label: str
    value: str
