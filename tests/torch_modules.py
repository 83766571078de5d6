"""Which modules of tests need PyTorch: without it they are skipped, and not imported."""

from pathlib import Path

TESTS = Path(__file__).resolve().parent
FOLDERS = ("device", "ops")
"""All their modules need it, except WITHOUT."""
MODULES = {
    "pipeline/test_project_measurement",
    "projects/test_projects",
    "shared/test_launch_facts",
}
"""Modules elsewhere that need it."""
WITHOUT = {"test_telemetry", "test_forks", "test_schedule", "test_program_runs", "test_locks"}


def needs_torch(path: Path) -> bool:
    if not path.is_relative_to(TESTS):
        return False
    place = path.relative_to(TESTS).with_suffix("")
    return (place.parts[0] in FOLDERS and place.name not in WITHOUT) or str(place) in MODULES
