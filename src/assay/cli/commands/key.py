"""``./assay key``: make a key that signs reports, or show what one is known by."""

from pathlib import Path
from typing import Annotated

import typer

from assay.base.errors import BadInput
from assay.base.io import read_bytes
from assay.cli import checkout
from assay.cli.console import say
from assay.cli.options import command_group
from assay.shared.read_limits import MOST_KEY_FILE
from assay.verification import sign
from assay.verification.attestation import load_public_key, load_signer, public_pem
from assay.verification.trusted_keys import TrustedKey, load_trusted_keys, trusted_keys

key = command_group("key", "Make a key that signs reports, or show what one is known by.")

PathArgument = Annotated[
    Path | None,
    typer.Argument(
        help="File of the key; else the one that reproduce signs with.",
        metavar="[PATH]",
        envvar="ASSAY_SIGNING_KEY",
        show_default="~/.config/assay/signing_key.pem",
    ),
]


@key.command()
def new(path: PathArgument = None) -> None:
    """Make an Ed25519 key pair: PATH and PATH.pub."""
    place = path or sign.default_signing_key()
    for file in (place, sign.public_key_path(place)):
        if file.exists() or file.is_symlink():
            raise BadInput(f"{file}: is there already; ./assay key show {place} tells of it")
    signer = sign.load_or_create_signer(place)
    sign.write_public_key(place, signer)
    _tell(TrustedKey(signer.public_key, str(place)))
    say(f"private: {place}")
    say(f"public:  {sign.public_key_path(place)}")


@key.command()
def show(path: PathArgument = None) -> None:
    """Show key id and public half of a private or a public key."""
    place = path or sign.default_signing_key()
    if not place.is_file():
        raise BadInput(f"{place}: no such key file; ./assay key new {place} makes one")
    private = b"PRIVATE KEY" in read_bytes(place, MOST_KEY_FILE)
    public = load_signer(place).public_key if private else load_public_key(place)
    _tell(TrustedKey(public, str(place)))


def _tell(found: TrustedKey) -> None:
    ours = load_trusted_keys(trusted_keys(checkout.ROOT))
    trusted = next((each for each in ours if each.keyid == found.keyid), None)
    say(f"key id:  {found.keyid}")
    say(f"trusted: {_trust(trusted)}")
    for line in public_pem(found.key).decode().splitlines():
        say(line)


def _trust(found: TrustedKey | None) -> str:
    if found is None:
        return "not by this checkout (config/trusted_keys)"
    if found.revoked is not None:
        return f"no longer: {found.name}, revoked on {found.revoked.day}: {found.revoked.reason}"
    days = [f"from {found.since}"] if found.since else []
    days += [f"until {found.until}"] if found.until else []
    return " ".join([f"by this checkout, as {found.name}", *days])
