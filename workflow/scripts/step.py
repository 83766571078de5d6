"""The shim behind every rule: the rule's name is the step, its wildcards are the arguments."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path.cwd() / "src"))

from assay.pipeline.steps import run_step

job = snakemake  # noqa: F821 - put here by Snakemake before this script starts
run_step(job.rule, dict(job.wildcards.items()), run_dir=job.config["run"], log=job.log[0])
