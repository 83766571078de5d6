rule stopwatch:
    input:
        platform=f"{RUN}/{{target}}/platform.json",
        correctness=f"{RUN}/{{target}}/correctness",
        binaries=lambda wildcards: ASSAY.binaries(wildcards.target),
    output:
        directory(f"{RUN}/{{target}}/stopwatch"),
    log:
        f"{LOGS}/{{target}}/stopwatch.log",
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
        definition=lambda wildcards: ASSAY.definition("stopwatch", wildcards.target),
    message:
        "stopwatch: another one on what is profiled, on {wildcards.target}"
    script:
        "../scripts/step.py"
