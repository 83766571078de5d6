rule sanitizer:
    input:
        platform=f"{RUN}/{{target}}/platform.json",
        binaries=lambda wildcards: ASSAY.binaries(wildcards.target),
    output:
        f"{RUN}/{{target}}/sanitizer.json",
    log:
        f"{LOGS}/{{target}}/sanitizer.log",
    # Short, and a machine unfit to measure shows here: before the stages that take minutes.
    priority: 1
    conda:
        "../envs/host.yaml"
    resources:
        gpu=lambda wildcards: ASSAY.gpu_resources(wildcards.target)["gpu"],
        gpu_model=lambda wildcards: ASSAY.gpu_resources(wildcards.target)["gpu_model"],
        slurm_partition=lambda wildcards: ASSAY.gpu_resources(wildcards.target)[
            "slurm_partition"
        ],
    params:
        request=ASSAY.request_path,
        run=ASSAY.request.run,
        definition=lambda wildcards: ASSAY.definition("sanitizer", wildcards.target),
    message:
        "sanitizer: every compiled kernel, on {wildcards.target}"
    script:
        "../scripts/step.py"
