"""What cases do to a report: each function returns a change of a site."""

import base64
import gzip
import json
import lzma
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from assay.shared.files import sha256_bytes
from assay.verification.attestation import load_signer
from assay.verification.report_archive import SUFFIX, pack_report
from tests.cases.bases import RUN
from tests.cases.bombs import gzip_bomb
from tests.cases.site import Site, spelled
from tests.cases.spellings import SPELLINGS

Change = Callable[[Site], object]

ATTESTATION = "attestation.json"
BENCHMARK = "evidence/h100/benchmark/demo_sweep.json.gz"
NOTES = """\
schema: assay/trusted_keys/1
keys:
  - {{file: key.pub, name: The holder{note}}}
  - {{file: enemy.pub, name: Somebody else}}
"""


def nothing(site: Site) -> None:
    """Change nothing."""


def both(*changes: Change) -> Change:
    return lambda site: [change(site) for change in changes]


# Files.


def as_bytes(path: str, change: Callable[[bytes], bytes]) -> Change:
    return lambda site: site.put(path, change((site.report / path).read_bytes()))


def flip(path: str, where: float = 0.5) -> Change:
    def flipped(data: bytes) -> bytes:
        place = round(where * (len(data) - 1))
        return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]

    return as_bytes(path, flipped)


def write(path: str, text: str, times: int = 1) -> Change:
    """Put a text, so many times over, where a file of the report may lie."""
    return lambda site: site.put(path, (text * times).encode())


def insert(path: str, text: str, by: str) -> Change:
    def change(site: Site) -> None:
        old = (site.report / path).read_text()
        assert text in old
        (site.report / path).write_text(old.replace(text, by))

    return change


def respell(path: str, way: str) -> Change:
    """Spell a JSON document in a way that readers may take differently."""
    return as_bytes(path, SPELLINGS[way])


def remove(path: str) -> Change:
    def change(site: Site) -> None:
        place = site.report / path
        if place.is_dir():
            shutil.rmtree(place)
            return
        place.unlink()
        if not any(place.parent.iterdir()):
            place.parent.rmdir()

    return change


def swap(one: str, other: str) -> Change:
    def change(site: Site) -> None:
        first, second = ((site.report / path).read_bytes() for path in (one, other))
        site.put(one, second)
        site.put(other, first)

    return change


def replace_by(path: str, kind: str) -> Change:
    """Put a pipe or a terabyte where a file of a report lies."""

    def change(site: Site) -> None:
        place = site.report / path
        if kind == "terabyte":
            os.truncate(place, 1 << 40)
            return
        place.unlink()
        os.mkfifo(place)

    return change


def touch(site: Site) -> None:
    for path in (path for path in site.report.rglob("*") if path.is_file()):
        path.chmod(0o755)
        os.utime(path, (0, 0))


def folders(*names: str) -> Change:
    return lambda site: site.evidence.joinpath(*names).mkdir(parents=True)


def many_files(site: Site) -> None:
    """Put more empty files into the evidence than any report has."""
    (site.evidence / "many").mkdir()
    for number in range(5_001):
        os.mknod(site.evidence / "many" / str(number))


def odd_name(name: bytes) -> Change:
    return lambda site: Path(os.fsdecode(os.fsencode(site.evidence) + b"/" + name)).touch()


def kept_as(name: str, folder: str = "") -> Change:
    """Keep the report below a checkout under another name; without a folder elsewhere."""

    def change(site: Site) -> None:
        site.repository = site.scratch / "checkout"
        place = site.repository / folder if folder else site.scratch / "elsewhere"
        place.mkdir(parents=True)
        site.given = place / name
        site.report.rename(site.given)

    return change


def no_report(site: Site) -> None:
    site.given = site.scratch / "none"


# Documents.


def put(path: str, member: str, value: Any) -> Change:
    """Give a member of a record another value, as ``set_in`` does."""
    return lambda site: site.edit(path, member, value)


def listed(entry: Callable[[list[dict[str, Any]]], Any]) -> Change:
    def change(files: list[dict[str, Any]]) -> list[dict[str, Any]]:
        entry(files)
        return files

    return put("manifest.json", "files", change)


def state(member: str, value: Any) -> Change:
    """Have the statement say something else, which the trusted key then signs."""
    return lambda site: site.state(member, value)


def respell_statement(way: str) -> Change:
    """Spell the statement in a way that readers may take differently."""

    def change(site: Site) -> None:
        site.payload = SPELLINGS[way](site.sealed())

    return change


def provenance(payload: bytes = b"[]", who: str = "key") -> Change:
    """Put a provenance that somebody signed beside a statement that names an empty list."""

    def change(site: Site) -> None:
        site.put("provenance.json", site.seal(payload, who))
        site.state("predicate.provenance", sha256_bytes(b"[]"))

    return change


def bomb(megabytes: int, says: int | None = None) -> Change:
    """Put zeros that are a thousandth of their size in place of the samples."""
    return lambda site: site.put(BENCHMARK, gzip_bomb(megabytes, says=says))


def spaces_behind_samples(megabytes: int) -> Change:
    """Put so much white space behind the samples: small, sound JSON."""
    return as_bytes(
        BENCHMARK,
        lambda data: gzip.compress(gzip.decompress(data) + b" " * (megabytes << 20), mtime=0),
    )


# Envelopes and keys.


def envelope(member: str, value: Any) -> Change:
    return put(ATTESTATION, member, value)


def payload(change: Callable[[bytes], bytes]) -> Change:
    return envelope(
        "payload", lambda text: base64.b64encode(change(base64.b64decode(text))).decode()
    )


def signed_by(who: str, path: str = ATTESTATION) -> Change:
    return lambda site: site.put(path, site.seal(site.sealed(path), who))


def stolen_id(site: Site) -> None:
    """A stranger's signature, which names the trusted key."""
    forged = json.loads(site.seal(site.sealed(), "enemy"))
    site.edit(ATTESTATION, "signatures.0.sig", forged["signatures"][0]["sig"])


def trusting_nobody(site: Site) -> None:
    site.keys = []


def trusting_file(text: str) -> Change:
    """Trust what a file holds: ``<key>``, ``<enemy>`` and ``<private>`` stand for keys in PEM form,
    ``<ssh key>`` for one as OpenSSH writes it.
    """

    def change(site: Site) -> None:
        content = text.replace("<ssh key>", _openssh(site))
        for named, file in (("private", "key"), ("key", "key.pub"), ("enemy", "enemy.pub")):
            content = content.replace(f"<{named}>", (site.base / file).read_text())
        _trust(site, content.encode())

    return change


def _openssh(site: Site) -> str:
    raw = bytes.fromhex(load_signer(site.base / "key").public_key.keyval["public"])
    key = Ed25519PublicKey.from_public_bytes(raw)
    return key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode() + " x@y\n"


def trusting_rsa(site: Site) -> None:
    """Trust a key of another kind than Ed25519."""
    key = rsa.generate_private_key(65537, 1024).public_key()
    _trust(site, key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))


def _trust(site: Site, data: bytes) -> None:
    site.keys = [site.scratch / "given.pub"]
    site.keys[0].write_bytes(data)


def noted(note: str, name: str = "keys.yaml", also_elsewhere: bool = False) -> Change:
    """Trust the keys of a folder whose notes say something of the one that signed."""

    def change(site: Site) -> None:
        folder = site.scratch / "config" / "trusted_keys"
        folder.mkdir(parents=True)
        for each in ("key.pub", "enemy.pub"):
            shutil.copy(site.base / each, folder / each)
        site.keys = [folder / "key.pub", folder / "enemy.pub"]
        if also_elsewhere:
            site.keys.append(site.base / "key.pub")
        (folder / name).write_text(NOTES.format(note=f", {note}" if note else ""))

    return change


# Archives.


def pack(site: Site) -> None:
    site.given = site.scratch / f"{RUN}{SUFFIX}"
    site.given.write_bytes(pack_report(site.report))


def packed(change: Callable[[bytes], bytes], name: str = RUN) -> Change:
    """Give an archive whose bytes are changed, under that name."""

    def changed(site: Site) -> None:
        site.given = site.scratch / f"{name}{SUFFIX}"
        site.given.write_bytes(change(pack_report(site.report)))

    return changed


def packed_among_published(site: Site) -> None:
    """Keep an archive among a checkout's published reports."""
    site.repository = site.scratch / "checkout"
    site.given = site.repository / "reports" / "published" / f"{RUN}{SUFFIX}"
    site.given.parent.mkdir(parents=True)
    site.given.write_bytes(pack_report(site.report))


def entries(*names: str, **fields: Any) -> Change:
    """Give an archive of files of one byte, of which the last has other ``fields``."""

    def change(site: Site) -> None:
        data = b""
        for number, name in enumerate(names, 1):
            info = tarfile.TarInfo(name)
            info.size, info.mode = 1, 0o644
            for each, value in fields.items() if number == len(names) else ():
                setattr(info, each, value)
            data += info.tobuf(tarfile.USTAR_FORMAT) + b"x" + bytes(511)
        site.given = site.scratch / f"run{SUFFIX}"
        site.given.write_bytes(lzma.compress(data + bytes(1024)))

    return change


def zeros(megabytes: int) -> Callable[[bytes], bytes]:
    """Return what makes small xz of so many zeros."""

    def made(_: bytes) -> bytes:
        packer = lzma.LZMACompressor(preset=0)
        pieces = [packer.compress(bytes(1 << 24)) for _ in range(megabytes // 16)]
        return b"".join([*pieces, packer.flush()])

    return made


def hungry(_: bytes) -> bytes:
    """Return xz that takes a gigabyte to open."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 30}]
    return lzma.compress(bytes(1024), filters=filters)


# Plans and figures that were taken over.


def evidence_of_the_other_gpu(site: Site) -> None:
    """File the H100's evidence as the H200's, with the other target's name in each record."""
    other = site.evidence / "h200"
    shutil.rmtree(other)
    shutil.copytree(site.evidence / "h100", other)
    for path in other.rglob("*.json*"):
        data, packed_file = path.read_bytes(), path.suffix == ".gz"
        text = gzip.decompress(data) if packed_file else data
        text = text.replace(b'"target": "h100"', b'"target": "h200"')
        path.write_bytes(gzip.compress(text, mtime=0) if packed_file else text)


def rename_nested(name: str) -> Change:
    """Give the report that figures come from the name of another, in the plan, too."""

    def change(site: Site) -> None:
        (site.evidence / "earlier" / "first_run").rename(site.evidence / "earlier" / name)
        read_nested_at(f"earlier/{name}/evidence")(site)

    return change


def read_nested_at(folder: str) -> Change:
    """Have the plan read recorded figures in another folder."""

    def change(site: Site) -> None:
        plan = site.read("evidence/plan.json")
        plan["targets"][0]["provision"]["within"] = folder
        site.put("evidence/plan.json", spelled(plan))

    return change
