"""The entry: ``python -m assay.cli``."""

import gc
import sys

from assay.base.progress import say
from assay.base.signals import leave_on_signals
from assay.shared.errors import ExitCode

if __name__ == "__main__":
    gc.set_threshold(100_000, 50, 100)  # records are many, and have no cycles
    try:
        leave_on_signals()
        from assay.cli.main import main

        main()
    except KeyboardInterrupt:  # while that was imported: all later ones end in there
        say("interrupted")
        sys.exit(ExitCode.INTERRUPTED)
    except ModuleNotFoundError as error:
        package = (error.name or "assay").partition(".")[0]
        if package == "assay":
            raise
        say(
            f"{sys.executable} has no package '{package}': unset ASSAY_NO_VENV, so that ./assay "
            "installs what it needs, or give it the packages of requirements/host.txt"
        )
        sys.exit(ExitCode.MACHINE_LACKS)
