"""Options that several commands take, each declared once."""

from pathlib import Path
from typing import Annotated

import typer

from assay.base.isolation import DEVICE_PATH
from assay.cli.report_names import found_report, found_reports
from assay.records.images import RuntimeWish
from assay.records.plan import Executor

ReportArgument = Annotated[
    Path,
    typer.Argument(
        help="Report directory, its archive, or the name of a report in this checkout.",
        metavar="REPORT_DIR",
        callback=found_report,
    ),
]
ReportsArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Reports, archives or names; else those published here, or by the project.",
        metavar="REPORT_DIR",
        callback=found_reports,
    ),
]
KeyOption = Annotated[
    list[Path] | None,
    typer.Option(
        help="Public key to trust, repeatable: one of them must have signed; else those of "
        "config/trusted_keys."
    ),
]
AlsoTrustedOption = Annotated[
    list[Path] | None, typer.Option(help="Public key to trust beside the repository's own.")
]
SigningKeyOption = Annotated[
    Path | None,
    typer.Option(
        help="Ed25519 private key; made on first use.",
        envvar="ASSAY_SIGNING_KEY",
        show_default="~/.config/assay/signing_key.pem",
    ),
]
RuntimeOption = Annotated[RuntimeWish | None, typer.Option(help="Container runtime, or host.")]
ExecutorOption = Annotated[Executor | None, typer.Option(help="Who places the jobs.")]
DevicePythonOption = Annotated[
    str | None,
    typer.Option(
        help="Python 3.11+ with PyTorch 2.11+ for the GPU side.", envvar="ASSAY_DEVICE_PYTHON"
    ),
]
DevicePathOption = Annotated[
    list[str] | None,
    typer.Option(
        DEVICE_PATH,
        metavar="DIR",
        help="Directory of packages that this Python looks into first, absolute; repeatable.",
    ),
]
CoresOption = Annotated[int | None, typer.Option(min=1, help="Local cores to use.")]
PolicyOption = Annotated[
    Path | None,
    typer.Option(
        help="Directory with config/ and kernels/ whose rules must be those of the report, "
        "instead of those of this checkout.",
        metavar="DIR",
    ),
]
AcceptPolicyOption = Annotated[
    bool,
    typer.Option("--accept-policy", help="List other rules, and accept them."),
]
