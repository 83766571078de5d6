"""Ed25519 signatures with a nonce of one's choice, which no library makes: RFC 8032 in integers."""

import hashlib

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from assay.verification.ed25519 import FIELD, ORDER, Point, _decoded, _times

BASE_Y = 4 * pow(5, -1, FIELD) % FIELD


def sign_with_nonce(pem: bytes, message: bytes, nonce: bytes) -> bytes:
    """Return a signature that fits, and is another for each nonce."""
    key = load_pem_private_key(pem, None)
    assert isinstance(key, Ed25519PrivateKey)
    digest = hashlib.sha512(key.private_bytes_raw()).digest()
    secret = int.from_bytes(digest[:32], "little") & ((1 << 254) - 8) | (1 << 254)
    number = int.from_bytes(hashlib.sha512(nonce + message).digest(), "little") % ORDER
    base = _decoded(BASE_Y.to_bytes(32, "little"))
    assert base is not None
    point = _encoded(_times(number, base))
    hashed = hashlib.sha512(point + key.public_key().public_bytes_raw() + message).digest()
    value = (number + int.from_bytes(hashed, "little") * secret) % ORDER
    return point + value.to_bytes(32, "little")


def _encoded(point: Point) -> bytes:
    inverse = pow(point[2], -1, FIELD)
    x, y = point[0] * inverse % FIELD, point[1] * inverse % FIELD
    return (y | (x & 1) << 255).to_bytes(32, "little")
