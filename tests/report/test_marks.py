"""Marks of statuses: told apart by shape and, in deuteranopia too, by colour."""

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.records.verdicts import Status
from assay.report.marks import mark_of, shape_of, symbols

DEUTERANOPIA = np.array(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
     [-0.011820, 0.042940, 0.968881]]
)  # fmt: skip
"""What such an eye sees of linear sRGB (Machado, Oliveira, Fernandes 2009, severity 1)."""
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.9505, 1.0, 1.089])
APART = 14.0
"""Distance in CIELAB from which on two colours beside each other are two to anybody."""
DRAWN = [status for status in Status if status.facts.basis == "interval"] + [Status.INCORRECT]


def seen(colour: str) -> NDArray[np.float64]:
    """Return a colour in CIELAB as seen in deuteranopia."""
    srgb = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    part = TO_XYZ @ np.clip(DEUTERANOPIA @ linear, 0, 1) / WHITE
    root = np.where(part > 0.008856, np.cbrt(part), 7.787 * part + 16 / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("one", "other"), combinations(DRAWN, 2))
def test_two_statuses_have_two_colours_and_two_shapes(
    one: Status, other: Status, theme: str
) -> None:
    distance = seen(getattr(one.facts, theme)) - seen(getattr(other.facts, theme))
    assert np.linalg.norm(distance) >= APART
    assert shape_of(one) != shape_of(other)


@pytest.mark.parametrize("status", Status)
def test_every_mark_is_a_shape_that_the_page_defines(status: Status) -> None:
    mark = mark_of(status)
    assert mark.symbol in dict(symbols())
    assert mark.style == status.value
    assert mark.hollow == (status.facts.badge == "ring")
    assert mark_of(status, hollow=True).hollow
