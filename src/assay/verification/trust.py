"""The repository's own: the reports that it publishes."""

import base64
from pathlib import Path

from assay.base.errors import AssayError
from assay.records.manifest import ATTESTATION, MANIFEST
from assay.shared.bounded_json import parse_bounded
from assay.shared.read_limits import MOST_ENVELOPE, whole_file_bytes
from assay.verification.report_archive import SUFFIX, is_archive, read_archive, report_name


def published_reports(root: Path) -> list[Path]:
    """Return reports that belong to the repository, the one signed last first.

    Directories or archives of such: to be read through ``opened_report``.
    """
    folder = root / "reports" / "published"
    found = [path.parent for path in folder.glob(f"*/{MANIFEST}")]
    found += filter(is_archive, folder.glob(f"*{SUFFIX}"))
    return sorted(found, key=lambda path: (_signed_at(path), report_name(path)), reverse=True)


def _signed_at(report: Path) -> str:
    """When a report says it was signed; nothing has verified it yet, and nothing but order follows.

    Empty where the attestation cannot be read: whoever verifies the report will say why.
    """
    try:
        if is_archive(report):
            data = read_archive(report)[ATTESTATION]
        else:
            data = whole_file_bytes(report / ATTESTATION, MOST_ENVELOPE)
        payload = base64.b64decode(parse_bounded(data)["payload"])
        created = parse_bounded(payload)["predicate"]["created"]
    except (OSError, ValueError, KeyError, TypeError, AssayError):
        return ""
    return created if isinstance(created, str) else ""
