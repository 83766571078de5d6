"""The entry: ``python -m assay.cli``."""

import gc
import sys

from assay.base.errors import BadInput
from assay.base.progress import has_output, say
from assay.base.signals import end_on_signals
from assay.base.source_date import source_date
from assay.shared.errors import ExitCode

if __name__ == "__main__":
    end_on_signals()
    gc.set_threshold(100_000, 50, 100)  # records are many, and have no cycles
    if not has_output():
        sys.exit(ExitCode.MACHINE_LACKS)
    try:
        source_date()  # libraries fail on a wrong one where they are imported
        from assay.cli.main import main

        main()
    except BadInput as error:  # of the line above: all others end in there
        say(str(error))
        sys.exit(error.exit_code)
    except ModuleNotFoundError as error:
        package = (error.name or "assay").partition(".")[0]
        if package == "assay":
            raise
        say(
            f"{sys.executable} has no package '{package}': unset ASSAY_NO_VENV, so that ./assay "
            "installs what it needs, or give it the packages of requirements/host.txt"
        )
        sys.exit(ExitCode.MACHINE_LACKS)
