"""One canonical form of an envelope, and DSSE's rules of who signed it."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from securesystemslib.dsse import Envelope as IndependentEnvelope
from securesystemslib.signer import CryptoSigner

from assay.base.errors import CheckFailed
from assay.records.trusted_keys import Revocation
from assay.verification.envelope import (
    Envelope,
    EnvelopeSignature,
    dump_envelope,
    parse_envelope,
    signed_envelope,
)
from assay.verification.signatures import check_signatures
from assay.verification.trusted_keys import TrustedKey

PAYLOAD = '{"name":"größe?>"}'.encode()


def signer() -> CryptoSigner:
    return CryptoSigner.generate_ed25519()


def trusted(*signers: CryptoSigner) -> list[TrustedKey]:
    return [TrustedKey(each.public_key, f"key {number}") for number, each in enumerate(signers)]


def code_of(data: bytes) -> str:
    with pytest.raises(CheckFailed) as raised:
        parse_envelope(data)
    return raised.value.code


def respelled(name: str, data: bytes) -> bytes:
    """The envelope as it stands, in another spelling."""
    document = json.loads(data)
    text = data.decode()
    payload = document["payload"]
    entry = document["signatures"][0]
    ways = {
        "compact": json.dumps(document, separators=(",", ":")),
        "compact, newline": json.dumps(document, separators=(",", ":")) + "\n",
        "four spaces": json.dumps(document, indent=4, sort_keys=True) + "\n",
        "no newline": text.rstrip("\n"),
        "two newlines": text + "\n",
        "white space in front": " " + text,
        "carriage returns": text.replace("\n", "\r\n"),
        "byte order mark": "\ufeff" + text,
        "a zero byte behind": text + "\0",
        "other order": json.dumps(dict(reversed(document.items())), indent=2) + "\n",
        "a member twice": text.replace('"payload":', f'"payload": "{payload}",\n  "payload":', 1),
        "another value first": text.replace('"payload":', '"payload": "",\n  "payload":', 1),
        "a further member": json.dumps({**document, "x": 1}, indent=2, sort_keys=True) + "\n",
        "a further member of a signature": json.dumps(
            {**document, "signatures": [{**entry, "cert": ""}]}, indent=2, sort_keys=True
        )
        + "\n",
        "escaped": text.replace("payloadType", "payload\\u0054ype"),
        "escaped slash": text.replace("application/vnd", "application\\/vnd"),
        "URL-safe base64": text.replace(payload, payload.replace("+", "-").replace("/", "_")),
        "no padding": text.replace(payload, payload.rstrip("=")),
        "padding beyond need": text.replace(payload, payload + "===="),
        "white space in base64": text.replace(payload, payload[:8] + "\\n" + payload[8:]),
        "unused bits in base64": text.replace(entry["sig"], _other_bits(entry["sig"])),
        "UTF-16": None,
    }
    way = ways[name]
    return text.encode("utf-16") if way is None else way.encode()


def _other_bits(text: str) -> str:
    """The same bytes: the last character before the padding has bits that none of them uses."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    bare = text.rstrip("=")
    other = bare[:-1] + alphabet[alphabet.index(bare[-1]) + 1] + text[len(bare) :]
    assert base64.b64decode(other) == base64.b64decode(text)
    return other


WAYS = [
    "compact", "compact, newline", "four spaces", "no newline", "two newlines",
    "white space in front", "carriage returns", "byte order mark", "a zero byte behind",
    "other order", "a member twice", "another value first", "a further member",
    "a further member of a signature", "escaped", "escaped slash", "URL-safe base64",
    "no padding", "padding beyond need", "white space in base64", "unused bits in base64",
    "UTF-16",
]  # fmt: skip


class TestCanonicalForm:
    """The bytes that signing writes, and no others."""

    def test_what_is_written_is_read(self) -> None:
        envelope = signed_envelope(PAYLOAD, [signer(), signer()])
        assert parse_envelope(dump_envelope(envelope)) == envelope

    @pytest.mark.parametrize("way", WAYS)
    def test_another_spelling_is_refused(self, way: str) -> None:
        data = dump_envelope(signed_envelope(PAYLOAD, [signer()]))
        other = respelled(way, data)
        assert other != data, "a case that changes nothing"
        assert code_of(other) in {"envelope-form", "envelope", "json", "json-duplicate", "encoding"}

    @pytest.mark.parametrize(
        "value", ["[]", "{}", "null", "3", '"x"', "", '{"payload": 3}', "[" * 100_000]
    )
    def test_what_is_no_envelope_is_refused(self, value: str) -> None:
        assert code_of(value.encode()) in {"envelope", "json", "json-depth"}

    def test_signatures_in_another_order(self) -> None:
        document = json.loads(dump_envelope(signed_envelope(PAYLOAD, [signer(), signer()])))
        document["signatures"].reverse()
        text = json.dumps(document, indent=2, sort_keys=True) + "\n"
        assert code_of(text.encode()) == "envelope-form"

    def test_one_signature_under_two_hints(self) -> None:
        one = signed_envelope(PAYLOAD, [signer()])
        twice = (*one.signatures, EnvelopeSignature(None, one.signatures[0].value))
        data = dump_envelope(Envelope(PAYLOAD, one.payload_type, twice))
        assert code_of(data) == "envelope-form"

    def test_more_signatures_than_anybody_tries(self) -> None:
        many = tuple(EnvelopeSignature(None, bytes([number]) * 64) for number in range(17))
        data = dump_envelope(Envelope(PAYLOAD, "x", many))
        assert code_of(data) == "envelope-signatures"

    def test_another_implementation_reads_and_verifies_it(self) -> None:
        """securesystemslib's own DSSE code, as in-toto's tools use it."""
        first, second = signer(), signer()
        data = dump_envelope(signed_envelope(PAYLOAD, [first, second]))
        independent = IndependentEnvelope.from_dict(json.loads(data))
        found = independent.verify([first.public_key, second.public_key], 2)
        assert set(found) == {first.public_key.keyid, second.public_key.keyid}


class TestSigners:
    """Whose signatures count, and how often."""

    @staticmethod
    def refusal(envelope: Envelope, keys: list[TrustedKey], threshold: int = 1) -> CheckFailed:
        with pytest.raises(CheckFailed) as raised:
            check_signatures(envelope, keys, threshold)
        return raised.value

    @pytest.mark.parametrize("hint", [None, ""])
    def test_a_key_id_is_optional(self, hint: str | None) -> None:
        one, other = signer(), signer()
        made = signed_envelope(PAYLOAD, [one])
        bare = (EnvelopeSignature(hint, made.signatures[0].value),)
        envelope = parse_envelope(dump_envelope(Envelope(PAYLOAD, made.payload_type, bare)))
        (found,) = check_signatures(envelope, trusted(other, one))
        assert found.keyid == one.public_key.keyid

    def test_a_trusted_keys_id_makes_no_signature(self) -> None:
        one, stranger = signer(), signer()
        made = signed_envelope(PAYLOAD, [stranger])
        claimed = (EnvelopeSignature(one.public_key.keyid, made.signatures[0].value),)
        error = self.refusal(Envelope(PAYLOAD, made.payload_type, claimed), trusted(one))
        assert error.code == "signature-invalid"

    def test_a_strangers_signature_is_passed_over(self) -> None:
        one, stranger = signer(), signer()
        envelope = signed_envelope(PAYLOAD, [one, stranger])
        (found,) = check_signatures(envelope, trusted(one))
        assert found.keyid == one.public_key.keyid
        assert self.refusal(envelope, trusted(signer())).code == "signature-untrusted"

    def test_each_distinct_key_counts_once(self) -> None:
        one, other = signer(), signer()
        made = signed_envelope(PAYLOAD, [one])
        twice = (*made.signatures, EnvelopeSignature(None, made.signatures[0].value))
        envelope = Envelope(PAYLOAD, made.payload_type, twice)
        assert self.refusal(envelope, trusted(one, other), 2).code == "signature-threshold"
        both = signed_envelope(PAYLOAD, [one, other])
        assert len(check_signatures(both, trusted(one, other), 2)) == 2

    def test_a_revoked_key_is_refused_beside_another(self) -> None:
        one, other = signer(), signer()
        revoked = Revocation.model_validate_json('{"day": "2026-11-01", "reason": "lost"}')
        keys = [*trusted(one), TrustedKey(other.public_key, "old", revoked=revoked)]
        error = self.refusal(signed_envelope(PAYLOAD, [one, other]), keys)
        assert error.code == "key-revoked"
        assert "'old'" in str(error)

    @pytest.mark.parametrize("length", [0, 3, 63, 65])
    def test_a_signature_has_64_bytes(self, length: int) -> None:
        one = signer()
        short = (EnvelopeSignature(one.public_key.keyid, bytes(length)),)
        kind = "application/vnd.in-toto+json"
        error = self.refusal(Envelope(PAYLOAD, kind, short), trusted(one))
        assert error.code == "signature-length"

    def test_no_signature(self) -> None:
        kind = "application/vnd.in-toto+json"
        assert self.refusal(Envelope(PAYLOAD, kind, ()), []).code == "signature-none"

    def test_another_payload_type(self) -> None:
        made: Any = signed_envelope(PAYLOAD, [signer()])
        error = self.refusal(Envelope(PAYLOAD, "text/plain", made.signatures), [])
        assert error.code == "payload-type"


def test_signatures_of_before_are_kept(tmp_path: Path) -> None:
    one, other = signer(), signer()
    first = signed_envelope(PAYLOAD, [one])
    second = signed_envelope(PAYLOAD, [other], first.signatures)
    assert len(check_signatures(second, trusted(one, other), 2)) == 2
    assert signed_envelope(PAYLOAD, [one], second.signatures) == second
