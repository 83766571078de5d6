"""Changes to the envelope: other spellings, other hints, other signatures."""

import base64
import json
import shutil
from collections.abc import Callable
from typing import Any

from assay.verification.attestation import load_signer
from assay.verification.ed25519 import ORDER
from assay.verification.envelope import (
    PAYLOAD_TYPE,
    Envelope,
    EnvelopeSignature,
    dump_envelope,
    parse_envelope,
    signed_envelope,
)
from tests.cases.bases import OTHER_RUN
from tests.cases.ed25519_signing import sign_with_nonce
from tests.cases.site import Site

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def envelope_text(site: Site, text: str, times: int = 1) -> None:
    """Put any text in place of the envelope."""
    site.put("attestation.json", (text * times).encode())


def respell_envelope(site: Site, way: str) -> None:
    """Say the same in other bytes."""
    data = (site.report / "attestation.json").read_bytes()
    other = WAYS[way](data.decode(), json.loads(data))
    site.put("attestation.json", other if isinstance(other, bytes) else other.encode())


def pad_beyond_need(site: Site) -> None:
    """The trusted key signs a payload whose base64 needs no padding; it has some all the same."""
    payload = _envelope(site).payload
    payload += b" " * (-len(payload) % 3)
    data = dump_envelope(signed_envelope(payload, [load_signer(site.base / "key")]))
    text = json.loads(data)["payload"]
    site.put("attestation.json", data.replace(text.encode(), text.encode() + b"===="))


def _canonical(document: Any) -> str:
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def _with(document: Any, **members: Any) -> str:
    return _canonical({**document, **members})


def _payload(text: str, document: Any, change: Callable[[str], str]) -> str:
    """Spell the payload otherwise."""
    return text.replace(document["payload"], change(document["payload"]))


def _other_bits(text: str) -> str:
    """The same bytes: the last character before the padding has bits that none of them uses."""
    bare = text.rstrip("=")
    return bare[:-1] + ALPHABET[ALPHABET.index(bare[-1]) + 1] + text[len(bare) :]


WAYS: dict[str, Callable[[str, Any], str | bytes]] = {
    "compact": lambda _, d: json.dumps(d, separators=(",", ":")) + "\n",
    "four spaces": lambda _, d: json.dumps(d, indent=4, sort_keys=True) + "\n",
    "no newline": lambda t, _: t.rstrip("\n"),
    "two newlines": lambda t, _: t + "\n",
    "white space in front": lambda t, _: " " + t,
    "carriage returns": lambda t, _: t.replace("\n", "\r\n"),
    "byte order mark": lambda t, _: "\ufeff" + t,
    "zero byte": lambda t, _: t + "\0",
    "trailing data": lambda t, _: t + "{}",
    "comment": lambda t, _: t + "// signed\n",
    "other order": lambda _, d: json.dumps(dict(reversed(d.items())), indent=2) + "\n",
    "member twice": lambda t, d: t.replace(
        '"payload":', f'"payload": "{d["payload"]}",\n  "payload":', 1
    ),
    "other value first": lambda t, _: t.replace('"payload":', '"payload": "",\n  "payload":', 1),
    "further member": lambda _, d: _with(d, x=1),
    "further member of a signature": lambda _, d: _with(
        d, signatures=[{**d["signatures"][0], "cert": ""}]
    ),
    "escaped": lambda t, _: t.replace("payloadType", "payload\\u0054ype"),
    "escaped slash": lambda t, _: t.replace("application/vnd", "application\\/vnd"),
    "no padding": lambda _, d: _with(
        d, signatures=[{**s, "sig": s["sig"].rstrip("=")} for s in d["signatures"]]
    ),
    "white space in base64": lambda t, d: _payload(t, d, lambda p: p[:8] + "\\n" + p[8:]),
    "unused bits": lambda _, d: _with(
        d, signatures=[{**s, "sig": _other_bits(s["sig"])} for s in d["signatures"]]
    ),
    "UTF-16": lambda t, _: t.encode("utf-16"),
    "payload as an object": lambda _, d: _with(
        d, payload=json.loads(base64.b64decode(d["payload"]))
    ),
    "a list of envelopes": lambda _, d: _canonical([d]),
    "a single signature": lambda _, d: _with(d, signatures=d["signatures"][0]),
    "NaN": lambda t, _: t.replace('"payload":', '"at": NaN,\n  "payload":', 1),
    "huge number": lambda t, _: t.replace('"payload":', f'"at": {"9" * 5000},\n  "payload":', 1),
}  # fmt: skip


def payload_type(site: Site, value: str, signed: bool) -> None:
    """Another type of payload; ``signed``: the trusted key signs it as such."""
    envelope = _envelope(site)
    other = Envelope(envelope.payload, value, envelope.signatures)
    if signed:
        made = load_signer(site.base / "key").sign(other.pae())
        signature = EnvelopeSignature(made.keyid, bytes.fromhex(made.signature))
        other = Envelope(envelope.payload, value, (signature,))
    site.put("attestation.json", dump_envelope(other))


def other_payload(site: Site, trailing: str = "") -> None:
    """Another statement below the old signature."""
    statement = site.statement()
    statement["predicate"]["verdicts"]["reproduced"] = 99
    data = json.dumps(statement, sort_keys=True, separators=(",", ":")).encode()
    if trailing:
        data = _envelope(site).payload + trailing.encode()
    _put(site, Envelope(data, PAYLOAD_TYPE, _envelope(site).signatures))


def flip_the_payload(site: Site, where: float) -> None:
    """Change one bit of the statement below the old signature."""
    envelope = _envelope(site)
    data = bytearray(envelope.payload)
    data[round(where * (len(data) - 1))] ^= 1
    _put(site, Envelope(bytes(data), PAYLOAD_TYPE, envelope.signatures))


def url_safe_signature(site: Site) -> None:
    """Spell a sound signature in the base64 of addresses: one that has letters of it."""
    envelope, text, number = _envelope(site), "", 0
    while not set("+/") & set(text):
        value = sign_with_nonce((site.base / "key").read_bytes(), envelope.pae(), b"%d" % number)
        text, number = base64.b64encode(value).decode(), number + 1
    other = text.translate(str.maketrans("+/", "-_"))
    site.edit_envelope(lambda document: document["signatures"][0].update(sig=other))


def strip_signatures(site: Site) -> None:
    """Leave no signature."""
    _put(site, Envelope(_envelope(site).payload, PAYLOAD_TYPE, ()))


def hint_at(site: Site, keyid: str | None) -> None:
    """Give the trusted key's signature another hint: none at all, an empty one, some other id."""
    envelope = _envelope(site)
    signature = EnvelopeSignature(keyid, envelope.signatures[0].value)
    _put(site, Envelope(envelope.payload, PAYLOAD_TYPE, (signature,)))


def stranger_under_the_trusted_id(site: Site) -> None:
    """A stranger's signature, which hints at the trusted key."""
    envelope = _envelope(site)
    made = _made_by(site, "enemy", envelope.payload)
    forged = EnvelopeSignature(envelope.signatures[0].keyid, made.value)
    _put(site, Envelope(envelope.payload, PAYLOAD_TYPE, (forged,)))


def stranger_beside(site: Site) -> None:
    """A stranger's signature beside the trusted one."""
    _add(site, _made_by(site, "enemy", _envelope(site).payload))


def same_signature_twice(site: Site) -> None:
    """The one signature, once more without a hint."""
    _add(site, EnvelopeSignature(None, _envelope(site).signatures[0].value))


def two_signatures_of_one_key(site: Site) -> None:
    """The trusted key signs twice, with two nonces: two signatures, and both fit."""
    pem = (site.base / "key").read_bytes()
    value = sign_with_nonce(pem, _envelope(site).pae(), b"another")
    _add(site, EnvelopeSignature(_envelope(site).signatures[0].keyid, value))


def malleable_signature(site: Site) -> None:
    """The group's order added to S: some verifiers of Ed25519 take that, too."""
    _change_signature(site, lambda v: v[:32] + _added(v[32:], ORDER))


def _added(number: bytes, more: int) -> bytes:
    return (int.from_bytes(number, "little") + more).to_bytes(32, "little")


def signature_of_zeros(site: Site) -> None:
    """R and S are nothing: what fits every message below a key of small order."""
    _change_signature(site, lambda _: bytes(64))


def signature_of_length(site: Site, length: int) -> None:
    """Another number of bytes."""
    _change_signature(site, lambda v: (v + bytes(64))[:length])


def many_signatures(site: Site, count: int) -> None:
    """More signatures than anybody tries."""
    envelope = _envelope(site)
    more = tuple(EnvelopeSignature(None, bytes([number]) * 64) for number in range(count))
    _put(site, Envelope(envelope.payload, PAYLOAD_TYPE, (*envelope.signatures, *more)))


def signer_file_of(site: Site, who: str) -> None:
    """Another public key beside the report than the one that signed."""
    data = (site.base / f"{who}.pub").read_bytes()
    site.put("signer.pub", data * 2 if who == "key" else data)


def other_runs_files(site: Site, paths: list[str]) -> None:
    """Take files of another report that the same key signed."""
    other = site.base / "repo" / "reports" / OTHER_RUN
    for path in paths:
        shutil.copy(other / path, site.report / path)


def older_report_of_the_run(site: Site) -> None:
    """Give the report that the run had before it was made again."""
    shutil.copytree(site.report, site.scratch / "older" / site.report.name)
    site.given = site.scratch / "older" / site.report.name


def _envelope(site: Site) -> Envelope:
    return parse_envelope((site.report / "attestation.json").read_bytes())


def _put(site: Site, envelope: Envelope) -> None:
    site.put("attestation.json", dump_envelope(envelope))


def _add(site: Site, signature: EnvelopeSignature) -> None:
    envelope = _envelope(site)
    _put(site, Envelope(envelope.payload, PAYLOAD_TYPE, (*envelope.signatures, signature)))


def _change_signature(site: Site, change: Callable[[bytes], bytes]) -> None:
    envelope = _envelope(site)
    (old,) = envelope.signatures
    new = EnvelopeSignature(old.keyid, change(old.value))
    _put(site, Envelope(envelope.payload, PAYLOAD_TYPE, (new,)))


def _made_by(site: Site, who: str, payload: bytes) -> EnvelopeSignature:
    return signed_envelope(payload, [load_signer(site.base / who)]).signatures[0]
