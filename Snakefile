# Assay's workflow: claims -> plan -> image -> build -> correctness -> benchmark -> judge -> report -> sign -> verify.
# The rules are in workflow/rules, one file a stage; this file names the final targets.


include: "workflow/rules/common.smk"
include: "workflow/rules/plan.smk"
include: "workflow/rules/image.smk"
include: "workflow/rules/build.smk"
include: "workflow/rules/platform.smk"
include: "workflow/rules/correctness.smk"
include: "workflow/rules/benchmark.smk"
include: "workflow/rules/program.smk"
include: "workflow/rules/profile.smk"
include: "workflow/rules/stopwatch.smk"
include: "workflow/rules/cheats.smk"
include: "workflow/rules/sanitizer.smk"
include: "workflow/rules/operators.smk"
include: "workflow/rules/judge.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/sign.smk"
include: "workflow/rules/verify.smk"


rule all:
    default_target: True
    input:
        f"{ASSAY.run_dir}/verified.txt",


rule portable:
    input:
        ASSAY.portable_files(),


rule timed:
    input:
        ASSAY.timed_files(),
