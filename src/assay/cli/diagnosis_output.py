"""The output of ``doctor``."""

from assay.cli import console
from assay.cli.diagnosis import Diagnosis
from assay.cli.tables import TableColumn, is_terminal, show_table


def show_diagnosis(diagnosis: Diagnosis) -> None:
    """Parts of the machine, and at the end what it can do."""
    findings = diagnosis.findings
    if is_terminal(console.out):  # a remedy is what people look for: it is never left out
        columns: tuple[TableColumn, ...] = (
            TableColumn("part"),
            TableColumn("state", prose=True),
            TableColumn("found", prose=True),
        )
        rows: list[tuple[str, ...]] = [
            (one.part, one.state.value, f"{one.found}{'; ' if one.remedy else ''}{one.remedy}")
            for one in findings
        ]
    else:
        columns = (
            TableColumn("part"),
            TableColumn("state"),
            TableColumn("found"),
            TableColumn("remedy"),
        )
        rows = [(one.part, one.state.value, one.found, one.remedy) for one in findings]
    show_table(console.out, console.err, "this machine", columns, rows)
    for ability in diagnosis.abilities:
        console.say(str(ability))
