"""tarfile's filters as arguments, where this Python has them: 3.11.4 and later."""

import tarfile
from typing import Any

DATA: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
TAR: dict[str, Any] = {"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}
