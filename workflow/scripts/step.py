"""The shim behind every rule: the rule's name is the step, its wildcards are the arguments."""

import sys
from pathlib import Path

# Snakemake puts the job here before this script starts.
sys.path.insert(0, str(Path(snakemake.scriptdir).resolve().parents[1] / "src"))  # noqa: F821

from assay.base.checkout_root import root_of
from assay.pipeline.steps import run_step

job = snakemake  # noqa: F821
run_step(
    root_of(Path(job.scriptdir)),
    job.rule,
    dict(job.wildcards.items()),
    run_dir=job.config["run"],
    log=job.log[0],
)
