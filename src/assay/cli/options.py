"""Options that several commands take, each declared once."""

from typing import Annotated

import typer

from assay.base.isolation import DEVICE_PATH
from assay.records.images import RuntimeWish
from assay.records.plan import Executor

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
