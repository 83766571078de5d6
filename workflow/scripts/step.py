"""The shim behind every rule: the rule's name is the step, its wildcards are the arguments."""

import sys
from pathlib import Path

# Snakemake puts the job here before this script starts.
sys.path.insert(0, str(Path(snakemake.scriptdir).resolve().parents[1] / "src"))  # noqa: F821

from assay.pipeline.steps import run_job

run_job(snakemake)  # noqa: F821
