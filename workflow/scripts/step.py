"""The shim behind every rule: the rule's name is the step, its wildcards are the arguments."""

from pathlib import Path

from snakemake.script import snakemake

from assay.steps import Steps, step

name = ".".join([snakemake.rule, *snakemake.wildcards])
with step(snakemake.log[0], snakemake.params.run, name):
    steps = Steps(Path.cwd(), snakemake.params.request)
    getattr(steps, snakemake.rule)(**dict(snakemake.wildcards.items()))
