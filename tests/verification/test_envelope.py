"""One canonical form of an envelope, and DSSE's rules of who signed it."""

import json

import pytest
from securesystemslib.dsse import Envelope as IndependentEnvelope
from securesystemslib.signer import CryptoSigner

from assay.base.errors import CheckFailed
from assay.verification.envelope import check_signatures, dump_envelope, parse_envelope, seal
from assay.verification.trusted_keys import TrustedKey

PAYLOAD = '{"name":"größe?>"}'.encode()


def signer() -> CryptoSigner:
    return CryptoSigner.generate_ed25519()


def trusted(*signers: CryptoSigner) -> list[TrustedKey]:
    return [TrustedKey(each.public_key, f"key {number}") for number, each in enumerate(signers)]


def test_what_is_written_is_read_and_nothing_else() -> None:
    data = seal(PAYLOAD, signer(), signer())
    assert dump_envelope(parse_envelope(data)) == data
    document = json.loads(data)
    document["signatures"].reverse()
    with pytest.raises(CheckFailed) as raised:
        parse_envelope((json.dumps(document, indent=2, sort_keys=True) + "\n").encode())
    assert raised.value.code == "envelope-form"


def test_another_implementation_reads_and_verifies_it() -> None:
    """securesystemslib's own DSSE code, as in-toto's tools use it."""
    first, second = signer(), signer()
    independent = IndependentEnvelope.from_dict(json.loads(seal(PAYLOAD, first, second)))
    found = independent.verify([first.public_key, second.public_key], 2)
    assert set(found) == {first.public_key.keyid, second.public_key.keyid}


def test_each_trusted_key_that_signed_counts_once() -> None:
    one, other = signer(), signer()
    both = parse_envelope(seal(PAYLOAD, one, other))
    assert len(check_signatures(both, trusted(one, other))) == 2
    assert len(check_signatures(both, trusted(one, one))) == 1
