"""Readings of what engines and a container's shell say in words alone, as yes or no: nowhere else.

Engines answer with a status code that many troubles share, and a container's last line may be all
that is left of a command that was ended.
"""

from assay.runtimes.settings import NO_MEMORY, NOT_FOUND

DISK_FULL = "no space left on device"
"""The C library's words for ENOSPC, which every tool passes on."""
FATAL = "FATAL:"


def disk_is_full(text: str) -> bool:
    """Return whether somebody else's message says that a disk is full."""
    return DISK_FULL in text.lower()


def lacked_memory(last_line: str) -> bool:
    """Return whether our own shell in the container told that the kernel ended its command."""
    return last_line.endswith(NO_MEMORY)


def lacked_command(last_line: str) -> bool:
    """Return whether our own shell in the container found no command to run."""
    return last_line == NOT_FOUND


def apptainer_refusal(last_line: str) -> str | None:
    """Return why Apptainer started no container, where its last line says so."""
    if not last_line.startswith(FATAL):
        return None
    return " ".join(last_line.removeprefix(FATAL).split())
