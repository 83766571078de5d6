"""What belongs to the repository: its published reports and the public keys it trusts."""

import base64
import json
from pathlib import Path

from assay.records.manifest import ATTESTATION, MANIFEST


def published_reports(root: Path) -> list[Path]:
    """Report directories that belong to the repository, the one signed last first."""
    folder = root / "reports" / "published"
    found = sorted((path.parent for path in folder.glob(f"*/{MANIFEST}")), reverse=True)
    return sorted(found, key=_signed_at, reverse=True)


def _signed_at(report: Path) -> str:
    """When a report says it was signed; nothing has verified it yet, and nothing but order follows.

    Empty where the attestation cannot be read: whoever verifies the report will say why.
    """
    try:
        envelope = json.loads((report / ATTESTATION).read_bytes())
        created = json.loads(base64.b64decode(envelope["payload"]))["predicate"]["created"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return created if isinstance(created, str) else ""


def trusted_keys(root: Path) -> list[Path]:
    """The public keys that the repository trusts."""
    return sorted((root / "config" / "trusted_keys").glob("*.pub"))
