"""What belongs to the repository: its published reports and the public keys it trusts."""

from pathlib import Path


def published_reports(root: Path) -> list[Path]:
    """Report directories that belong to the repository, newest name first."""
    folder = root / "reports" / "published"
    return sorted((path.parent for path in folder.glob("*/manifest.json")), reverse=True)


def trusted_keys(root: Path) -> list[Path]:
    """The public keys that the repository trusts."""
    return sorted((root / "config" / "trusted_keys").glob("*.pub"))
