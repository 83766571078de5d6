"""Time stamps of RFC 3161: that a signature was there at a time which a service vouches for.

What is stamped is the SHA-256 of one signature of the report's envelope, so that further keys may
sign later. Tokens are read and checked by OpenSSL's ``ts``, a program that may be absent: only who
asks for a time stamp needs it. A library would be one more package of the host's lock, and another
lock sends each report of earlier rules to an environment of its own (``own_rules``).
"""

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cryptography.x509 import load_pem_x509_certificates

from assay.base.errors import BadInput, CheckFailed, MissingEnvironment
from assay.base.io import read_bytes
from assay.shared.files import sha256_bytes
from assay.shared.read_limits import MOST_KEY_FILE

MOST_TIME_STAMP = 65_536
"""Bytes of a service's answer: with its certificates some 6,000."""
LONGEST_S = 20.0
"""That OpenSSL may take: it takes milliseconds."""
_IMPRINT = re.compile(r"^    [0-9a-f]{4} - ((?:[0-9a-f]{2}[ -]){1,16})", re.MULTILINE)
_TIME = re.compile(r"^Time stamp: (\w{3} +\d+ \d\d:\d\d:\d\d)(?:\.\d+)? (\d{4}) GMT$", re.MULTILINE)
_NONCE = re.compile(r"^Nonce: (0x[0-9A-F]+)$", re.MULTILINE)
_NAME = re.compile(r"^TSA: (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class TimeStamp:
    """What a token says; whether it is to be believed, ``check_time_stamp`` tells."""

    imprint: str
    """Digest of what was stamped, in hexadecimal."""
    time: datetime
    """UTC."""
    nonce: str | None
    authority: str
    """As the token names it."""

    @property
    def told(self) -> str:
        """Return the time as statements write it."""
        return self.time.strftime("%Y-%m-%dT%H:%M:%SZ")


def time_stamp_query(signature: bytes, folder: Path, *, nonce: bool) -> Path:
    """Return the file of a query about a signature, made in ``folder``."""
    path = folder / "query.tsq"
    once = [] if nonce else ["-no_nonce"]
    digest = sha256_bytes(signature)
    made = _openssl("-query", "-digest", digest, "-sha256", "-cert", *once, "-out", str(path))
    if made.returncode != 0:
        raise MissingEnvironment("openssl makes no query for a time stamp: openssl ts is missing")
    return path


def query_nonce(query: Path) -> str | None:
    """Return the number that only the answer to this query holds."""
    found = _NONCE.search(_text("-query", "-in", str(query), "-text"))
    return found[1] if found else None


def check_time_stamp(answer: bytes, signature: bytes, authorities: Path) -> TimeStamp:
    """Return the time stamp of a signature, as one of ``authorities`` vouches for it.

    ``answer``: of the service, as bytes. ``authorities``: the certificates that the verifier trusts
    for it, as PEM; they must have been valid at the time of the stamp, and may expire later. Raises
    CheckFailed, BadInput for a file without certificates, MissingEnvironment without OpenSSL.
    """
    require_authorities(authorities)
    with tempfile.TemporaryDirectory(prefix="assay-stamp-") as name:
        folder = Path(name)
        return check_answer(
            answer, signature, authorities, time_stamp_query(signature, folder, nonce=False), folder
        )


def check_answer(
    answer: bytes, signature: bytes, authorities: Path, query: Path, folder: Path
) -> TimeStamp:
    """As ``check_time_stamp``, of the answer to a query that lies in ``folder``."""
    path = folder / "answer.tsr"
    path.write_bytes(answer)
    stamp = _read(path, folder)
    if stamp.imprint != sha256_bytes(signature):
        problem = "the time stamp is of something else than this signature"
        raise CheckFailed(problem, code="timestamp-imprint")
    nonce = query_nonce(query)
    if nonce is not None and nonce != stamp.nonce:
        problem = "the time stamp does not answer this query: its nonce is another"
        raise CheckFailed(problem, code="timestamp-nonce")
    at = str(int(stamp.time.timestamp()))
    done = _openssl("-verify", "-queryfile", str(query), "-in", str(path),
                    "-CAfile", str(authorities.resolve()), "-attime", at)  # fmt: skip
    if done.returncode != 0:
        problem = f"none of the certificates in {authorities} vouches for the time stamp"
        raise CheckFailed(problem, code="timestamp-untrusted")
    return stamp


def read_time_stamp(answer: bytes) -> TimeStamp:
    """Return what an answer says, which nothing vouches for yet. Raises CheckFailed."""
    with tempfile.TemporaryDirectory(prefix="assay-stamp-") as name:
        path = Path(name) / "answer.tsr"
        path.write_bytes(answer)
        return _read(path, Path(name))


def require_authorities(path: Path) -> None:
    """Raise BadInput unless a file holds certificates."""
    if not path.is_file():
        raise BadInput(f"{path}: no such file of certificates")
    try:
        load_pem_x509_certificates(read_bytes(path, MOST_KEY_FILE * 16))
    except ValueError as error:
        raise BadInput(f"{path}: holds no certificates in PEM form", code="certificates") from error


def require_openssl() -> None:
    """Raise MissingEnvironment where OpenSSL is not installed."""
    _openssl("-help")


def _read(path: Path, folder: Path) -> TimeStamp:
    """Return what an answer's token says.

    The token alone is shown: what stands around it is signed by nobody, and may say anything.
    """
    token = folder / "token"
    said = ("-reply", "-token_in", "-in", str(token), "-text")
    if _openssl("-reply", "-in", str(path), "-token_out", "-out", str(token)).returncode == 0:
        text = _text(*said)
        imprint = "".join(re.findall("[0-9a-f]{2}", " ".join(_IMPRINT.findall(text))))
        time, nonce, name = _TIME.search(text), _NONCE.search(text), _NAME.search(text)
        if imprint and time:
            when = datetime.strptime(f"{time[1]} {time[2]} +0000", "%b %d %H:%M:%S %Y %z")
            authority = name[1] if name else "a service without a name"
            return TimeStamp(imprint, when.astimezone(UTC), nonce and nonce[1], authority)
    raise CheckFailed("the time stamp is no answer of RFC 3161 that grants one", code="timestamp")


def _text(*arguments: str) -> str:
    return _openssl(*arguments).stdout.decode(errors="replace")


def _openssl(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run ``openssl ts``, without anybody's configuration. Raises MissingEnvironment."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C",
                   "OPENSSL_CONF": os.devnull}  # fmt: skip
    try:
        return subprocess.run(
            ["openssl", "ts", *arguments],
            capture_output=True, check=False, env=environment, stdin=subprocess.DEVNULL,
            timeout=LONGEST_S,
        )  # fmt: skip
    except FileNotFoundError as error:
        problem = "time stamps need the program openssl: apt-get install openssl"
        raise MissingEnvironment(problem) from error
    except subprocess.TimeoutExpired as error:
        problem = f"openssl does not come to an end with this time stamp within {LONGEST_S:.0f} s"
        raise CheckFailed(problem, code="timestamp") from error
