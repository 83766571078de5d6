"""One canonical form of an envelope, which other programs read, too."""

import json

from securesystemslib.dsse import Envelope as IndependentEnvelope
from securesystemslib.signer import CryptoSigner

from assay.verification.envelope import dump_envelope, parse_envelope, seal


def test_another_implementation_reads_and_verifies_it() -> None:
    """securesystemslib's own DSSE code, as in-toto's tools use it."""
    signer = CryptoSigner.generate_ed25519()
    data = seal('{"name":"größe?>"}'.encode(), signer)
    assert dump_envelope(parse_envelope(data)) == data
    found = IndependentEnvelope.from_dict(json.loads(data)).verify([signer.public_key], 1)
    assert set(found) == {signer.public_key.keyid}
