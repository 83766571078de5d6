"""Asking a service of RFC 3161 for a time stamp: the one thing of signing that uses a network."""

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from assay.base.errors import BadInput, MissingEnvironment
from assay.verification.time_stamp import (
    MOST_TIME_STAMP,
    check_answer,
    require_authorities,
    require_openssl,
    time_stamp_query,
)

PATIENCE_S = 30.0
URL = re.compile(r"https?://[!-~]+")


@dataclass(frozen=True)
class TimeService:
    """A service, and the certificates that its answers must be vouched for by."""

    url: str
    authorities: Path

    def stamp(self, signature: bytes) -> bytes:
        """Return a time stamp of ``signature``, checked against the query and the certificates.

        Raises MissingEnvironment where the service does not answer, CheckFailed for another answer.
        """
        with tempfile.TemporaryDirectory(prefix="assay-stamp-") as name:
            folder = Path(name)
            query = time_stamp_query(signature, folder, nonce=True)
            answer = _posted(self.url, query.read_bytes())
            check_answer(answer, signature, self.authorities, query, folder)
            return answer


def time_service(url: str | None, authorities: Path | None) -> TimeService | None:
    """Return the service that was asked for; None where none was.

    Raises BadInput for one without the other and for what is no address or certificate,
    MissingEnvironment without OpenSSL.
    """
    if url is None and authorities is None:
        return None
    if url is None or authorities is None:
        raise BadInput(
            "--timestamp-service and --timestamp-ca go together: a time stamp is kept only where "
            "its service is vouched for"
        )
    if not URL.fullmatch(url):
        raise BadInput(f"--timestamp-service {url!a}: is no http or https address")
    require_authorities(authorities)
    require_openssl()
    return TimeService(url, authorities)


def _posted(url: str, query: bytes) -> bytes:
    """Return the body of the service's answer. Raises MissingEnvironment with one sentence."""
    import requests  # noqa: PLC0415 - takes a while to load, and few ask for a time stamp

    headers = {"Content-Type": "application/timestamp-query", "Accept-Encoding": "identity"}
    try:
        with requests.post(
            url, query, headers=headers, timeout=PATIENCE_S, stream=True, allow_redirects=False
        ) as answer:
            kind = answer.headers.get("Content-Type", "").partition(";")[0].strip()
            if answer.status_code != requests.codes.ok or kind != "application/timestamp-reply":
                raise MissingEnvironment(
                    f"{url} gives no time stamp: it answers {answer.status_code} with "
                    f"{kind or 'no content type'!a}"
                )
            body: bytes = answer.raw.read(MOST_TIME_STAMP + 1)
    except (requests.RequestException, OSError) as error:
        problem = f"{url} gives no time stamp: {type(error).__name__}"
        raise MissingEnvironment(problem) from error
    if len(body) > MOST_TIME_STAMP:
        raise MissingEnvironment(f"{url} gives no time stamp: its answer is too long for one")
    return body
