"""The output of ``doctor``: first what the machine can do, then its parts by their state."""

import shlex
from collections.abc import Iterator

from assay.base.errors import BadInput
from assay.base.yaml_problems import suggest
from assay.cli import checkout, console
from assay.cli.diagnosis import Diagnosis
from assay.cli.findings import Finding, State
from assay.report import formatting as fmt

INDENT = 10
"""Characters before what a line says."""


def show_diagnosis(diagnosis: Diagnosis) -> None:
    """Print the diagnosis, about ten lines at a terminal."""
    for head, text in diagnosis_lines(diagnosis):
        console.say(f"{head + ':':{INDENT}}{text}", indent=INDENT)


def diagnosis_lines(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    """Yield the head of each line and what it says."""
    for ability in diagnosis.abilities:
        yield ability.name, ability.answer
    for state, between in ((State.OK, ", "), (State.WRONG, "; "), (State.ABSENT, ", ")):
        found = [_words(each) for each in diagnosis.findings if each.state is state]
        if found:
            yield state.value, between.join(found)
    if names := list(fixes(diagnosis)):
        prints = f"{shlex.quote(checkout.command())} doctor --fix NAME prints the line for"
        yield "to get", f"{prints} {fmt.either(names)}"


def fixes(diagnosis: Diagnosis) -> dict[str, str]:
    """Return the shell line that gets each part that is lacking."""
    return {each.part: each.fix for each in diagnosis.findings if each.fix}


def show_fix(diagnosis: Diagnosis, name: str) -> None:
    """Print the shell line that gets a part, and nothing else. Raises BadInput where none does."""
    known = fixes(diagnosis)
    if any(each.part == name and each.state is State.OK for each in diagnosis.findings):
        raise BadInput(f"{name} is here already")
    if name not in known:
        raise BadInput(f"no line is known that gets '{name}'{suggest(name, known)}")
    console.say_line(known[name])


def _words(finding: Finding) -> str:
    if finding.state is State.WRONG:
        return f"{finding.part}: {finding.found}"
    if finding.state is State.ABSENT:
        return f"{finding.part} ({finding.found})" if finding.found else finding.part
    return f"{finding.part} {finding.found}".rstrip()
