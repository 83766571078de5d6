"""Forged records of what came of a user's checkout: a source's own program, a file as published."""

from collections.abc import Callable
from typing import Any

from tests.cases.attack import Argument
from tests.cases.site import Site

PLAN = "evidence/plan.json"
OWN_RUN = "evidence/h100/original/demo_own.json.gz"
COMPILED = "evidence/compiled_files/{}/demo_file.json"
NO_OUTPUT = {"exit_code": 139, "stderr": "Segmentation fault"}

RUNS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "best only": lambda runs: [max(runs, key=lambda run: run["stdout"])],
    "best several times": lambda runs: [max(runs, key=lambda run: run["stdout"])] * len(runs),
    "one more": lambda runs: [*runs, {**runs[0], "seconds": 0.77}],
    "crashed": lambda runs: [{**run, **NO_OUTPUT} for run in runs],
    "backwards": lambda runs: [{**run, "seconds": -run["seconds"]} for run in runs],
    "an hour each": lambda runs: [{**run, "seconds": 3600 + run["seconds"]} for run in runs],
    "other output": lambda runs: [
        {**run, "stdout": run["stdout"].replace("45", "55")} for run in runs
    ],
}


def runs_of_own_program(site: Site, how: str) -> None:
    """Forge the runs of the source's own program."""
    site.edit(OWN_RUN, lambda record: record.update(runs=RUNS[how](record["runs"])))


def own_program(site: Site, member: str, value: Argument, planned: bool = False) -> None:
    """Have the record of the source's own program say something else: ``build_line.line`` ...

    ``planned``: and the plan's job.
    """
    names = {"build_line": "build", "run_line": "run"}
    first, _, rest = member.partition(".")

    def change(record: Any, name: str) -> None:
        if rest:
            record[name][rest] = value
        else:
            record[name] = value

    site.edit(OWN_RUN, lambda record: change(record, first))
    if planned:
        job = names.get(first, first)
        site.edit(PLAN, lambda plan: change(plan["targets"][0]["originals"][0], job))


def own_program_not_built(site: Site) -> None:
    """Say that the program's build failed, and keep its runs."""
    site.edit(OWN_RUN, lambda record: record["build"].update(exit_code=1))


def own_compiler_did_not_say(site: Site) -> None:
    """Have the compiler not say which it is."""
    site.edit(OWN_RUN, lambda record: record["compiler"].update(exit_code=127))


def compiled_file(site: Site, arch: str, name: str, value: Argument) -> None:
    """Have the record of a compiled file say something else."""
    site.edit(COMPILED.format(arch), lambda record: record.update({name: value}))


def compiled_by(site: Site, arch: str, nvcc: str) -> None:
    """Have a file be compiled by another version of the compiler."""
    site.edit(COMPILED.format(arch), lambda record: record["toolchain"].update(nvcc=nvcc))


def compiled_with(site: Site, arch: str, option: str) -> None:
    """Have a file be compiled with one option more."""
    site.edit(COMPILED.format(arch), lambda record: record["command"].insert(-1, option))


def compiled_by_nothing(site: Site, arch: str) -> None:
    """Have another program be started in the compiler's place."""

    def change(record: Any) -> None:
        record["command"][0] = "false"

    site.edit(COMPILED.format(arch), change)


def compilation_planned_twice(site: Site) -> None:
    """Have the plan call for a compilation twice, of two checkouts."""

    def change(plan: Any) -> None:
        first = plan["compilations"][0]
        plan["compilations"].insert(0, {**first, "checkout": {**first["checkout"], "files": 9}})

    site.edit(PLAN, change)


def inspected(site: Site, member: str, value: Argument, every: bool = True) -> None:
    """Have the inspections find something else: in the file that two claims are about, or of one
    of them only.
    """

    def change(record: Any) -> None:
        for entry in record["inspections"][: None if every else 1]:
            entry[member] = value

    site.edit("evidence/inspections.json", change)
