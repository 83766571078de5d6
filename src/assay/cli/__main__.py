"""The entry: ``python -m assay.cli``."""

import sys

if __name__ == "__main__":
    try:
        from assay.cli.main import main
    except KeyboardInterrupt:  # the imports take a second or two
        sys.exit(130)
    main()
