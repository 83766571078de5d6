"""Whether 32 bytes are a public key that an honest signer can have: one point, of the large order.

Libraries take any 32 bytes, and some points verify a signature over any message: the eight of small
order, and what else names one of them. Integers only; the curve is that of RFC 8032, section 5.1.
"""

FIELD = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
"""Of the subgroup that holds every key that was made from a secret."""
D = -121665 * pow(121666, -1, FIELD) % FIELD
ROOT_OF_MINUS_ONE = pow(2, (FIELD - 1) // 4, FIELD)
KEY_BYTES = 32

Point = tuple[int, int, int, int]
"""Extended coordinates: X, Y, Z and T, with x = X/Z, y = Y/Z and xy = T/Z."""
NEUTRAL: Point = (0, 1, 1, 0)


def public_key_problem(raw: bytes) -> str | None:
    """Return why 32 bytes are no public key to trust, or None where they are one."""
    if len(raw) != KEY_BYTES:
        return f"has {len(raw)} bytes, not {KEY_BYTES}"
    point = _decoded(raw)
    if point is None:
        return "is no point of the curve in its one encoding"
    if _is_neutral(_times(8, point)):
        return "is of small order: it would verify what nobody signed"
    if not _is_neutral(_times(ORDER, point)):
        return "is outside the subgroup that keys are made in"
    return None


def _decoded(raw: bytes) -> Point | None:
    """Return the point that the bytes encode; None for no point, or another spelling of one."""
    number = int.from_bytes(raw, "little")
    sign, y = number >> 255, number & (2**255 - 1)
    if y >= FIELD:
        return None
    above, below = (y * y - 1) % FIELD, (D * y * y + 1) % FIELD
    square = above * pow(below, -1, FIELD) % FIELD
    x = pow(square, (FIELD + 3) // 8, FIELD)
    if x * x % FIELD != square:
        x = x * ROOT_OF_MINUS_ONE % FIELD
    if x * x % FIELD != square or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = FIELD - x
    return x, y, 1, x * y % FIELD


def _sum(one: Point, other: Point) -> Point:
    """Return the sum of two points, by formulas that hold for all of them."""
    a = (one[1] - one[0]) * (other[1] - other[0]) % FIELD
    b = (one[1] + one[0]) * (other[1] + other[0]) % FIELD
    c = 2 * D * one[3] * other[3] % FIELD
    d = 2 * one[2] * other[2] % FIELD
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % FIELD, g * h % FIELD, f * g % FIELD, e * h % FIELD


def _times(factor: int, point: Point) -> Point:
    total = NEUTRAL
    while factor:
        if factor & 1:
            total = _sum(total, point)
        point = _sum(point, point)
        factor >>= 1
    return total


def _is_neutral(point: Point) -> bool:
    return point[0] % FIELD == 0 and (point[1] - point[2]) % FIELD == 0
