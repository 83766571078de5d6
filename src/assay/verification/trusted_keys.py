"""The public keys that a verifier trusts: what they are called, and when they may have signed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from securesystemslib.signer import SSlibKey

from assay.base.errors import BadInput, CheckFailed
from assay.base.io import load_yaml
from assay.records.trusted_keys import Revocation, TrustedKeyEntry, TrustedKeysFile
from assay.verification.attestation import load_public_key

FOLDER = "trusted_keys"
NOTES = "keys.yaml"
"""What a folder of that name says of the keys in it; it need not be there."""


@dataclass(frozen=True)
class TrustedKey:
    """One public key that a verifier trusts."""

    key: SSlibKey
    name: str
    since: date | None = None
    until: date | None = None
    revoked: Revocation | None = None
    noted: bool = False
    """Whether a ``keys.yaml`` says whose it is."""
    holder: str | None = None
    """Who signs with it, where the notes say so."""

    @property
    def keyid(self) -> str:
        """Return the id by which envelopes hint at it."""
        return str(self.key.keyid)

    @property
    def signer(self) -> str:
        """Return who signs with it: several keys of one holder are one signer."""
        return self.holder or self.keyid

    def check_signed_on(self, created: str) -> None:
        """Raise CheckFailed unless it was in use when its report says that it was signed.

        ``created`` is UTC, as ``YYYY-MM-DDT...``: the signer's own word.
        """
        day = date.fromisoformat(created[:10])
        if self.since is not None and day < self.since:
            problem = f"key '{self.name}' is trusted from {self.since} on; this was signed on {day}"
            raise CheckFailed(problem, code="key-not-yet")
        if self.until is not None and day > self.until:
            problem = f"key '{self.name}' is trusted until {self.until}; this was signed on {day}"
            raise CheckFailed(problem, code="key-expired")


def trusted_keys(root: Path) -> list[Path]:
    """Return the public keys that the repository trusts.

    Raises BadInput where ``keys.yaml`` is there and does not name exactly the files beside it, and
    where anything else is that somebody may have meant to be read.
    """
    return _keys_in(root / "config" / FOLDER)


def _keys_in(folder: Path) -> list[Path]:
    paths = sorted(folder.glob("*.pub"))
    _require_known_names(folder)
    if (folder / NOTES).exists():
        named = {entry.file for entry in _notes(folder).keys}
        if odd := sorted(named ^ {path.name for path in paths}):
            where = "is not there" if odd[0] in named else "is not named there"
            raise BadInput(f"{folder / NOTES}: {odd[0]} {where}", code="trusted-keys")
    return paths


def project_keys(folder: Path | None) -> list[Path]:
    """Return the public keys that a project trusts: those in its own ``trusted_keys``, by the same
    rules; none where there is no project.
    """
    return [] if folder is None else _keys_in(folder / FOLDER)


def load_trusted_keys(paths: Sequence[Path], beside: Sequence[Path] = ()) -> tuple[TrustedKey, ...]:
    """Return the keys of these files, each distinct one once, revoked if one of its files is.

    What notes say of a key counts for each file of it, also where the noted file is only among
    ``beside``: a copy elsewhere evades no revocation. Raises BadInput with one sentence.
    """
    given = [key.keyid for key in _loaded(paths)]
    return tuple(key for key in _loaded((*paths, *beside)) if key.keyid in given)


def _loaded(paths: Sequence[Path]) -> tuple[TrustedKey, ...]:
    folders = dict.fromkeys(path.absolute().parent for path in paths)
    notes = {
        folder: {entry.file: entry for entry in _notes(folder).keys}
        for folder in folders
        if folder.name == FOLDER and (folder / NOTES).exists()
    }
    for folder in folders:
        if folder.name == FOLDER:
            _require_known_names(folder)
    return distinct_keys(_load(path, notes.get(path.absolute().parent, {})) for path in paths)


def distinct_keys(keys: Iterable[TrustedKey]) -> tuple[TrustedKey, ...]:
    """Return each key once: of several files of it the one that revokes it, else a noted one."""
    found: dict[str, TrustedKey] = {}
    for key in keys:
        if key.keyid not in found or _weight(key) > _weight(found[key.keyid]):
            found[key.keyid] = key
    return tuple(found.values())


def _weight(key: TrustedKey) -> tuple[bool, bool]:
    return key.revoked is not None, key.noted


def _require_known_names(folder: Path) -> None:
    """Raise BadInput for a file that would be passed over, such as notes by another name."""
    odd = sorted(
        path.name
        for path in (folder.iterdir() if folder.is_dir() else ())
        if path.name != NOTES and path.suffix not in (".pub", ".md") and path.name[0] != "."
    )
    if odd:
        problem = f"{folder / odd[0]}: is not read: notes are {NOTES}, and keys are files *.pub"
        raise BadInput(problem, code="trusted-keys")


def _load(path: Path, notes: Mapping[str, TrustedKeyEntry]) -> TrustedKey:
    """Return a file's key, with what the folder's notes say of it."""
    key, entry = load_public_key(path), notes.get(path.name)
    return TrustedKey(key, path.stem) if entry is None else _with_notes(key, entry)


def _with_notes(key: SSlibKey, entry: TrustedKeyEntry) -> TrustedKey:
    dates = entry.from_, entry.until
    return TrustedKey(key, entry.name, *dates, entry.revoked, noted=True, holder=entry.holder)


def _notes(folder: Path) -> TrustedKeysFile:
    return load_yaml(TrustedKeysFile, folder / NOTES)
