"""Forged records of what came of a user's checkout: a source's own program, a file as published."""

from collections.abc import Callable
from typing import Any

from tests.cases.attack import Argument
from tests.cases.site import Site

PLAN = "evidence/plan.json"
OWN_RUN = "evidence/h100/original/demo_own.json.gz"
COMPILED = "evidence/compiled_files/{}/demo_file.json"

RUNS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "best only": lambda runs: [max(runs, key=lambda run: run["stdout"])],
    "one more": lambda runs: [*runs, {**runs[0], "seconds": 0.77}],
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
