"""The spelling of a commit that names exactly one."""

import re

COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
"""A whole id, of SHA-1 or SHA-256; to be matched in full."""
