"""``./assay sign``: add a signature to a report that is signed already."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from assay.base.errors import BadInput
from assay.cli import checkout, console
from assay.cli.commands.verify import Trust, check_given, check_report
from assay.cli.console import say
from assay.cli.options import (
    AcceptPolicyOption,
    PolicyOption,
    TimestampCaOption,
    TimestampServiceOption,
)
from assay.cli.verification_output import show_check
from assay.shared.counting import counted
from assay.verification.add_signature import add_signature, open_to_signature
from assay.verification.attestation import load_signer
from assay.verification.policy import Policy
from assay.verification.time_service import time_service
from assay.verification.trusted_keys import distinct_keys, load_trusted_keys, trusted_keys
from assay.verification.verify import VerificationLog


def sign(
    report_dir: Annotated[
        Path, typer.Argument(help="Directory of a signed report.", metavar="REPORT_DIR")
    ],
    signing_key: Annotated[
        Path,
        typer.Option(help="Ed25519 private key that signs, too.", envvar="ASSAY_SIGNING_KEY"),
    ],
    key: Annotated[
        list[Path] | None,
        typer.Option(
            help="Public key to trust, repeatable: one of them must have signed before; else those "
            "of config/trusted_keys."
        ),
    ] = None,
    policy: PolicyOption = None,
    accept_policy: AcceptPolicyOption = False,
    timestamp_service: TimestampServiceOption = None,
    timestamp_ca: TimestampCaOption = None,
) -> None:
    """Verify a signed report, and add the signature of another key."""
    if not signing_key.is_file():
        raise BadInput(f"{signing_key}: no such key file; ./assay key new {signing_key} makes one")
    check_given(key or (), policy)
    signer = load_signer(signing_key)
    service = time_service(timestamp_service, timestamp_ca)
    ours = trusted_keys(checkout.ROOT)
    trusted = key or ours
    # A key that this checkout revoked signs nothing here, whoever else is trusted.
    mine = [each for each in load_trusted_keys(ours) if each.keyid == signer.public_key.keyid]
    known = distinct_keys((*load_trusted_keys(trusted, ours), *mine))
    envelopes = open_to_signature(report_dir, signer, known, service)
    log = VerificationLog(tell=partial(show_check, console.out))
    # Whoever signs is one of those that the threshold asks for.
    rules = Policy(checkout.ROOT, policy, accept_policy)
    check_report(report_dir, Trust(trusted, 1), rules, texts=False, log=log)
    count = add_signature(report_dir, signer, envelopes, known, service)
    now = counted(count, "signature")
    say(f"signed: {report_dir} by key {signer.public_key.keyid}: {now} now")
