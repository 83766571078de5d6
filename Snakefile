# Assay's workflow: claims -> plan -> image -> build -> correctness -> benchmark -> judge -> report -> sign -> verify.
# The command plans; the rules are in workflow/rules. This file names the final targets.


include: "workflow/rules/common.smk"
include: "workflow/rules/measuring.smk"
include: "workflow/rules/build.smk"
include: "workflow/rules/run.smk"


rule all:
    default_target: True
    input:
        ASSAY.finished_files(),


rule unsigned:
    input:
        ASSAY.rendered_files(),


rule portable:
    input:
        ASSAY.portable_files(),


rule timed:
    input:
        ASSAY.timed_files(),
