"""Public keys that no secret has are known by their point."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from assay.verification.ed25519 import FIELD, public_key_problem

TOP = 1 << 255
ORDER_EIGHT = (
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
)
EIGHTS = [int.from_bytes(bytes.fromhex(text), "little") for text in ORDER_EIGHT]
SMALL = [1, FIELD - 1, 0, TOP, *EIGHTS, *(TOP + number for number in EIGHTS)]
"""The eight points of small order, each in its one encoding."""
OTHER_SPELLINGS = [
    TOP + 1, TOP + FIELD - 1, FIELD, FIELD + 1, TOP + FIELD, TOP + FIELD + 1, TOP - 1, 2 * TOP - 1,
]  # fmt: skip
"""The same and others, with a coordinate of the field's size or more, or a sign of zero."""


def encoded(number: int) -> bytes:
    return number.to_bytes(32, "little")


def test_keys_that_were_made_are_fine() -> None:
    for _ in range(8):
        raw = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
        assert public_key_problem(raw) is None


@pytest.mark.parametrize("number", SMALL)
def test_the_eight_points_of_small_order(number: int) -> None:
    assert "small order" in str(public_key_problem(encoded(number)))


@pytest.mark.parametrize("number", OTHER_SPELLINGS)
def test_other_encodings(number: int) -> None:
    assert "its one encoding" in str(public_key_problem(encoded(number)))


def test_what_is_no_point() -> None:
    assert "is no point" in str(public_key_problem(encoded(2)))


def test_a_key_with_a_small_part_added() -> None:
    """The point (0, -1) added to a key: y and x change sign, the order doubles."""
    raw = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    number = int.from_bytes(raw, "little")
    sign, y = number >> 255, number & (TOP - 1)
    shifted = encoded(((1 - sign) << 255) | (FIELD - y))
    assert "outside the subgroup" in str(public_key_problem(shifted))


def test_other_lengths() -> None:
    assert "31 bytes" in str(public_key_problem(bytes(31)))
