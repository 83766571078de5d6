rule correctness:
    input:
        platform=f"{RUN}/{{target}}/platform.json",
        binaries=lambda wildcards: ASSAY.binaries(wildcards.target),
    output:
        directory(f"{RUN}/{{target}}/correctness"),
    log:
        f"{LOGS}/{{target}}/correctness.log",
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
        definition=lambda wildcards: ASSAY.definition("correctness", wildcards.target),
    message:
        "correctness: every comparison on {wildcards.target}"
    script:
        "../scripts/step.py"
