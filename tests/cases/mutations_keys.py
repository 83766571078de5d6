"""Keys of the verifier: files that are none, and what keys.yaml says of good ones."""

import base64

from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    SSHCertificateBuilder,
    SSHCertificateType,
)
from securesystemslib.signer import CryptoSigner

from assay.verification.attestation import load_signer
from assay.verification.envelope import dump_envelope, parse_envelope, signed_envelope
from tests.cases.signers import spelled
from tests.cases.site import Site

PREFIX = bytes.fromhex("302a300506032b6570032100")
"""What stands before the 32 bytes of an Ed25519 key in DER."""
WEAK = {
    "neutral": 1, "order two": 2**255 - 20, "order four": 0, "not reduced": 2**255 - 18,
    "order eight": int.from_bytes(bytes.fromhex(
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"),
    "no point": 2,
}  # fmt: skip
NOTES = """\
schema: assay/trusted_keys/1
keys:
  - file: key.pub
    name: The holder
{note}
  - file: enemy.pub
    name: Somebody else
"""


def weak_key(site: Site, which: str) -> None:
    """Trust a key that no secret has: it may verify what nobody signed."""
    text = base64.b64encode(PREFIX + WEAK[which].to_bytes(32, "little")).decode()
    _trust(site, f"-----BEGIN PUBLIC KEY-----\n{text}\n-----END PUBLIC KEY-----\n".encode())


def key_of_other_kind(site: Site, kind: str) -> None:
    """Trust a key of another kind than Ed25519."""
    if kind == "RSA":
        key: ec.EllipticCurvePublicKey | rsa.RSAPublicKey = rsa.generate_private_key(
            65537, 1024
        ).public_key()
    else:
        key = ec.generate_private_key(ec.SECP256R1()).public_key()
    _trust(site, key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))


def key_file_of(site: Site, text: str) -> None:
    """Trust what a file holds: ``PEM`` and ``SSH`` stand for the trusted key, ``ENEMY`` and
    ``ENEMY SSH`` for a stranger's, ``PRIVATE`` for a private one, which nobody gives away.
    """
    made = {
        "ENEMY SSH": _openssh(site, "enemy"),
        "PRIVATE": (site.base / "key").read_text(),
        "ENEMY": (site.base / "enemy.pub").read_text(),
        "SSH": _openssh(site, "key"),
        "PEM": (site.base / "key.pub").read_text(),
    }
    for name, content in made.items():
        text = text.replace(f"<{name}>", content)
    _trust(site, text.encode())


def key_file_of_certificate(site: Site) -> None:
    """Trust what is a certificate of OpenSSH, by whatever authority."""
    authority = Ed25519PrivateKey.generate()
    raw = bytes.fromhex(load_signer(site.base / "key").public_key.keyval["public"])
    builder = SSHCertificateBuilder().public_key(Ed25519PublicKey.from_public_bytes(raw))
    builder = (
        builder.serial(1).type(SSHCertificateType.USER).key_id(b"x").valid_for_all_principals()
    )
    made = builder.valid_after(0).valid_before(2**63).sign(authority)
    _trust(site, made.public_bytes() + b"\n")


def public_key_of_a_further_signer(site: Site) -> None:
    """A stranger signs as well, and puts its own key beside the report."""
    envelope = parse_envelope((site.report / "attestation.json").read_bytes())
    both = signed_envelope(envelope.payload, _both(site))
    site.put("attestation.json", dump_envelope(both))
    site.put("signer.pub", (site.base / "enemy.pub").read_bytes())


def _both(site: Site) -> list[CryptoSigner]:
    return [load_signer(site.base / who) for who in ("key", "enemy")]


def notes_by_another_name(site: Site, name: str) -> None:
    """Trust the keys of a folder whose notes have a name that nobody reads."""
    note_of_the_key(site, 'revoked: {day: "2027-02-03", reason: stolen}')
    notes = site.keys[0].parent / "keys.yaml"
    notes.rename(notes.with_name(name))


def no_key(site: Site) -> None:
    """Trust nobody."""
    site.keys = []


def further_key(site: Site) -> None:
    """Trust a stranger's key besides."""
    site.keys.append(site.base / "enemy.pub")


def sign_with_both(site: Site) -> None:
    """A second trusted key signs the same statement."""
    for name in ("attestation.json", "provenance.json"):
        envelope = parse_envelope((site.report / name).read_bytes())
        both = signed_envelope(envelope.payload, _both(site))
        site.put(name, dump_envelope(both))
    further_key(site)


def note_of_the_key(site: Site, note: str) -> None:
    """Trust the keys of a folder whose keys.yaml says something of the one that signed.

    It says so in the case as YAML, each line of which is one of the key's members.
    """
    folder = site.scratch / "config" / "trusted_keys"
    folder.mkdir(parents=True)
    site.keys = []
    for name in ("key.pub", "enemy.pub"):
        (folder / name).write_bytes((site.base / name).read_bytes())
        site.keys.append(folder / name)
    lines = "\n".join(f"    {line}" for line in note.splitlines())
    (folder / "keys.yaml").write_text(NOTES.format(note=lines))


def revoke_in_another_file(site: Site) -> None:
    """Trust one key by two files, of which one says that it is revoked."""
    note_of_the_key(site, 'revoked: {day: "2027-02-03", reason: stolen}')
    site.keys.append(site.base / "key.pub")


def backdate(site: Site, note: str, created: str) -> None:
    """State another time of signing, of a key that was not in use any more."""
    note_of_the_key(site, note)
    statement = site.statement()
    statement["predicate"]["created"] = created
    site.payload = spelled(statement)


def key_of_a_stranger(site: Site) -> None:
    """Trust a stranger alone."""
    site.keys = [site.base / "enemy.pub"]


def _trust(site: Site, data: bytes) -> None:
    site.keys = [site.scratch / "given.pub"]
    site.keys[0].write_bytes(data)


def _openssh(site: Site, who: str) -> str:
    raw = bytes.fromhex(load_signer(site.base / who).public_key.keyval["public"])

    key = Ed25519PublicKey.from_public_bytes(raw)
    return key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode() + " x@y\n"
