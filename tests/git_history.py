"""Git for tests that make a history of their own."""

import subprocess
from pathlib import Path


def git(root: Path, *arguments: str) -> str:
    """Run git in a repository, as nobody in particular; what it prints."""
    names = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    command = ["git", "-C", str(root), *names, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
