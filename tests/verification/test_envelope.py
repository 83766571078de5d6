"""One canonical form of an envelope, and DSSE's rules of who signed it."""

import json

import pytest
from securesystemslib.dsse import Envelope as IndependentEnvelope
from securesystemslib.signer import CryptoSigner

from assay.base.errors import CheckFailed
from assay.records.trusted_keys import Revocation
from assay.verification.envelope import (
    Envelope,
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


class TestCanonicalForm:
    """The bytes that signing writes, and no others."""

    def test_what_is_written_is_read(self) -> None:
        envelope = signed_envelope(PAYLOAD, [signer(), signer()])
        assert parse_envelope(dump_envelope(envelope)) == envelope

    def test_signatures_in_another_order(self) -> None:
        document = json.loads(dump_envelope(signed_envelope(PAYLOAD, [signer(), signer()])))
        document["signatures"].reverse()
        text = json.dumps(document, indent=2, sort_keys=True) + "\n"
        assert code_of(text.encode()) == "envelope-form"

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
    def refusal(envelope: Envelope, keys: list[TrustedKey]) -> CheckFailed:
        with pytest.raises(CheckFailed) as raised:
            check_signatures(envelope, keys)
        return raised.value

    def test_each_trusted_key_that_signed_counts_once(self) -> None:
        one, other = signer(), signer()
        both = signed_envelope(PAYLOAD, [one, other])
        assert len(check_signatures(both, trusted(one, other))) == 2
        assert len(check_signatures(both, trusted(one, one))) == 1

    def test_a_revoked_key_is_refused_beside_another(self) -> None:
        one, other = signer(), signer()
        revoked = Revocation.model_validate_json('{"day": "2026-11-01", "reason": "lost"}')
        keys = [*trusted(one), TrustedKey(other.public_key, "old", revoked=revoked)]
        error = self.refusal(signed_envelope(PAYLOAD, [one, other]), keys)
        assert error.code == "key-revoked"
        assert "'old'" in str(error)
