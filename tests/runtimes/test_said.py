"""Readings of what engines and containers say in words alone."""

import pytest

from assay.runtimes.said import apptainer_refusal, disk_is_full, lacked_command, lacked_memory
from assay.runtimes.settings import NO_MEMORY, NOT_FOUND


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("write /var/lib/docker/tmp: no space left on device", True),
        ("cp: error writing '/x': No space left on device", True),
        ("permission denied", False),
        ("", False),
    ],
)
def test_a_full_disk(text: str, full: bool) -> None:
    assert disk_is_full(text) is full


def test_a_command_that_the_kernel_ended() -> None:
    assert lacked_memory(NO_MEMORY)
    assert lacked_memory(f"half a line of the command{NO_MEMORY}")
    assert not lacked_memory("Killed")


def test_a_command_that_is_not_there() -> None:
    assert lacked_command(NOT_FOUND)
    assert not lacked_command("sh: nothing: not found")


def test_a_container_that_apptainer_did_not_start() -> None:
    line = "FATAL:   container creation failed: mount hook function failure"
    assert apptainer_refusal(line) == "container creation failed: mount hook function failure"
    assert apptainer_refusal("the command's own last line") is None
