"""The public keys that a verifier trusts: what they are called, and when they may have signed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from securesystemslib.signer import SSlibKey

from assay.base.errors import BadInput, CheckFailed
from assay.base.io import load_yaml
from assay.records.attestation import Revocation, TrustedKeyEntry, TrustedKeysFile
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
        """Return the id by which envelopes name it."""
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
    return project_keys(root / "config")


def project_keys(folder: Path | None) -> list[Path]:
    """Return the public keys that a project trusts: those in its own ``trusted_keys``, by the same
    rules; none where there is no project.
    """
    if folder is None:
        return []
    _notes(folder / FOLDER)
    return sorted((folder / FOLDER).glob("*.pub"))


def load_trusted_keys(paths: Sequence[Path], beside: Sequence[Path] = ()) -> tuple[TrustedKey, ...]:
    """Return the keys of these files, each distinct one once, revoked if one of its files is.

    What notes say of a key counts for each file of it, also where the noted file is only among
    ``beside``: a copy elsewhere evades no revocation. Raises BadInput with one sentence.
    """
    folders = {path.absolute().parent for path in (*paths, *beside)}
    notes = {folder: _notes(folder) for folder in folders}
    loaded = {
        path: _load(path, notes[path.absolute().parent].get(path.name))
        for path in (*paths, *beside)
    }
    given = {loaded[path].keyid for path in paths}
    return tuple(key for key in distinct_keys(loaded.values()) if key.keyid in given)


def distinct_keys(keys: Iterable[TrustedKey]) -> tuple[TrustedKey, ...]:
    """Return each key once: of several files of it the one that revokes it, else a noted one."""
    files: dict[str, list[TrustedKey]] = {}
    for key in keys:
        files.setdefault(key.keyid, []).append(key)
    return tuple(
        max(same, key=lambda each: (each.revoked is not None, each.noted))
        for same in files.values()
    )


def _load(path: Path, entry: TrustedKeyEntry | None) -> TrustedKey:
    """Return a file's key, with what the folder's notes say of it."""
    key = load_public_key(path)
    if entry is None:
        return TrustedKey(key, path.stem)
    dates = entry.from_, entry.until
    return TrustedKey(key, entry.name, *dates, entry.revoked, noted=True, holder=entry.holder)


def _notes(folder: Path) -> dict[str, TrustedKeyEntry]:
    """Return what the notes of a folder of keys say, by file. Raises BadInput where they, or other
    files there, do not fit the keys.
    """
    if folder.name != FOLDER or not folder.is_dir():
        return {}
    names = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    keys = {name for name in names if name.endswith(".pub")}
    if odd := sorted(name for name in names - keys - {NOTES} if not name.endswith(".md")):
        problem = f"{folder / odd[0]}: is not read: notes are {NOTES}, and keys are files *.pub"
        raise BadInput(problem, code="trusted-keys")
    if NOTES not in names:
        return {}
    notes = {entry.file: entry for entry in load_yaml(TrustedKeysFile, folder / NOTES).keys}
    if odd := sorted(notes.keys() ^ keys):
        where = "is not there" if odd[0] in notes else "is not named there"
        raise BadInput(f"{folder / NOTES}: {odd[0]} {where}", code="trusted-keys")
    return notes
