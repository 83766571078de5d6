# The stages that measure: each has a target's GPU to itself, and one step makes all records of a
# target. Every rule is the first one with other inputs, outputs and words; what it writes is in the
# table of stages (src/assay/evidence/stages.py).


rule platform:
    input:
        # Not the plan: a changed definition is what measures again.
        image=lambda wildcards: ASSAY.runner_image(wildcards.target),
    output:
        ASSAY.output("platform"),
    log:
        ASSAY.log("platform"),
    conda:
        "../envs/host.yaml"
    resources:
        **ASSAY.cards,
        gpu=ASSAY.asked("gpu"),
        gpu_model=ASSAY.asked("gpu_model"),
        gres=ASSAY.asked("gres"),
        slurm_partition=ASSAY.asked("slurm_partition"),
        slurm_account=ASSAY.asked("slurm_account"),
        qos=ASSAY.asked("qos"),
        constraint=ASSAY.asked("constraint"),
        slurm_extra=ASSAY.asked("slurm_extra"),
        runtime=ASSAY.asked("runtime"),
        mem_mb=ASSAY.asked("mem_mb"),
        cpus_per_task=ASSAY.asked("cpus_per_task"),
    params:
        definition=lambda wildcards: ASSAY.definition("platform", wildcards.target),
    message:
        "platform: what {wildcards.target} is measured on"
    script:
        "../scripts/step.py"


use rule platform as correctness with:
    input:
        platform=ASSAY.output("platform"),
        binaries=lambda wildcards: ASSAY.binaries(wildcards.target),
    output:
        directory(ASSAY.output("correctness")),
    log:
        ASSAY.log("correctness"),
    # Figures come before what stands beside them: a GPU that is lent may go back.
    priority: 1
    params:
        definition=lambda wildcards: ASSAY.definition("correctness", wildcards.target),
    message:
        "correctness: every comparison on {wildcards.target}"


use rule platform as benchmark with:
    input:
        correctness=ASSAY.output("correctness"),
        binaries=lambda wildcards: ASSAY.binaries(wildcards.target),
    output:
        directory(ASSAY.output("benchmark")),
    log:
        ASSAY.log("benchmark"),
    # What stands beside the figures is then made on the card that they are of.
    priority: 1
    threads: lambda wildcards: ASSAY.threads(wildcards.target, workflow.cores)
    params:
        definition=lambda wildcards: ASSAY.definition("benchmark", wildcards.target),
    message:
        "benchmark: every comparison on {wildcards.target}"


use rule platform as program with:
    input:
        platform=ASSAY.output("platform"),
        binaries=lambda wildcards: ASSAY.program_binaries(wildcards.target),
    output:
        directory(ASSAY.output("program")),
    log:
        ASSAY.log("program"),
    priority: 1
    threads: lambda wildcards: ASSAY.threads(wildcards.target, workflow.cores)
    params:
        definition=lambda wildcards: ASSAY.definition("program", wildcards.target),
    message:
        "program: every original program on {wildcards.target}"


use rule platform as original with:
    input:
        platform=ASSAY.output("platform"),
        images=lambda wildcards: ASSAY.command_images(wildcards.target),
    output:
        directory(ASSAY.output("original")),
    log:
        ASSAY.log("original"),
    priority: 1
    threads: lambda wildcards: ASSAY.threads(wildcards.target, workflow.cores)
    params:
        definition=lambda wildcards: ASSAY.definition("original", wildcards.target),
    message:
        "original: the sources' own programs on {wildcards.target}"


use rule platform as profile with:
    input:
        platform=ASSAY.output("platform"),
        correctness=ASSAY.output("correctness"),
        binaries=lambda wildcards: ASSAY.binaries(wildcards.target),
    output:
        directory(ASSAY.output("profile")),
    log:
        ASSAY.log("profile"),
    params:
        definition=lambda wildcards: ASSAY.definition("profile", wildcards.target),
    message:
        "profile: every arm that is to be, on {wildcards.target}"


use rule platform as stopwatch with:
    input:
        platform=ASSAY.output("platform"),
        correctness=ASSAY.output("correctness"),
        binaries=lambda wildcards: ASSAY.binaries(wildcards.target),
    output:
        directory(ASSAY.output("stopwatch")),
    log:
        ASSAY.log("stopwatch"),
    params:
        definition=lambda wildcards: ASSAY.definition("stopwatch", wildcards.target),
    message:
        "stopwatch: another one on what is profiled, on {wildcards.target}"


use rule platform as cheats with:
    input:
        platform=ASSAY.output("platform"),
    output:
        ASSAY.output("cheats"),
    log:
        ASSAY.log("cheats"),
    # Short, and a machine unfit to measure shows here: before the stages that take minutes.
    priority: 2
    params:
        definition=lambda wildcards: ASSAY.definition("cheats", wildcards.target),
    message:
        "cheats: kernels that cheat, on {wildcards.target}"


use rule platform as sanitizer with:
    input:
        platform=ASSAY.output("platform"),
        binaries=lambda wildcards: ASSAY.binaries(wildcards.target),
    output:
        ASSAY.output("sanitizer"),
    log:
        ASSAY.log("sanitizer"),
    params:
        definition=lambda wildcards: ASSAY.definition("sanitizer", wildcards.target),
    message:
        "sanitizer: every compiled kernel, on {wildcards.target}"


use rule platform as operators with:
    input:
        platform=ASSAY.output("platform"),
        binaries=lambda wildcards: ASSAY.operator_binaries(wildcards.target),
    output:
        ASSAY.output("operators"),
    log:
        ASSAY.log("operators"),
    params:
        definition=lambda wildcards: ASSAY.definition("operators", wildcards.target),
    message:
        "operators: PyTorch's, on {wildcards.target}"
