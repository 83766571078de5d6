"""Forged guards and programs: records that are there, and tell of less than they should."""

from typing import Any

from assay.shared.files import write_json
from tests.cases.site import Site

SANITIZER = "evidence/h100/sanitizer.json"
STOPWATCH = "evidence/h100/stopwatch/demo_sweep.json"
CHEATS = "evidence/h100/cheats.json"


def sanitizer_record(site: Site, how: str) -> None:
    """Forge what compute-sanitizer found."""

    def change(record: Any) -> None:
        if how == "no run":
            record["runs"] = []
        elif how == "one tool":
            record["runs"] = [run for run in record["runs"] if run["tool"] == "memcheck"]
            record["controls"] = record["controls"][:1]
        elif how == "one kernel less":
            last = record["runs"][-1]["variant"]
            record["runs"] = [run for run in record["runs"] if run["variant"] != last]
        elif how == "one shape":
            for run in record["runs"]:
                run["shapes"] = run["shapes"][:1]
        elif how == "invented shapes":
            for run in record["runs"]:
                run["shapes"] = ["invented"]
        else:
            for run in record["runs"]:
                run["binary_sha256"] = "ab" * 32

    site.edit(SANITIZER, change)


def stopwatch_arms(site: Site, left: int) -> None:
    """Leave so many arms in the record of the second stopwatch."""
    site.edit(STOPWATCH, lambda record: record.update(arms=record["arms"][:left]))


def stopwatch_of_another_binary(site: Site) -> None:
    """Have the second stopwatch time another binary than was built."""
    site.edit(STOPWATCH, lambda r: [arm.update(binary_sha256="ab" * 32) for arm in r["arms"]])


def cheats_record(site: Site, how: str) -> None:
    """Forge which kernels that cheat were tried, and against what."""

    def change(record: Any) -> None:
        cheats = record["cheats"]
        if how == "fewer":
            record["cheats"] = [each for each in cheats if each["name"] in ("honest", "zeros")]
        elif how == "twice":
            record["cheats"] = [*cheats, cheats[-1]]
        else:
            cheats[1].update(meant="repeat", caught_by=["repeat"])

    site.edit(CHEATS, change)


def program_runs(site: Site, how: str) -> None:
    """Forge the runs of every original program."""

    def change(record: Any) -> None:
        runs = record["runs"]
        if how == "best only":
            record["runs"] = runs[-1:]
        elif how == "none":
            record["runs"] = []
        elif how == "best several times":
            record["runs"] = runs[-1:] * len(runs)
        elif how == "twice as many":
            record["runs"] = [*runs, *({**run, "seconds": 2.0} for run in runs)]
        elif how == "of no time":
            for number, run in enumerate(runs):
                run["seconds"] = 1e-6 * (number + 1)
        elif how == "other output":
            for run in runs:
                run["stdout"] = run["stdout"].replace(": 59", ": 79").replace(": 60", ": 80")
        else:
            record["arguments"] = ["--b=9"]

    for path in sorted((site.evidence / "h100" / "program").iterdir()):
        site.edit(path.relative_to(site.report).as_posix(), change)


def swap_programs(site: Site) -> None:
    """File two programs' records under each other's names."""
    one, other = sorted((site.evidence / "h100" / "program").iterdir())[:2]
    first, second = (site.read(path.relative_to(site.report).as_posix()) for path in (one, other))
    write_json(second, one)
    write_json(first, other)
