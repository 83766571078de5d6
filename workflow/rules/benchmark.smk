rule benchmark:
    input:
        correctness=f"{RUN}/{{target}}/correctness",
        binaries=lambda wildcards: ASSAY.binaries(wildcards.target),
    output:
        directory(f"{RUN}/{{target}}/benchmark"),
    log:
        f"{LOGS}/{{target}}/benchmark.log",
    conda:
        "../envs/host.yaml"
    threads: lambda wildcards: ASSAY.threads(wildcards.target, workflow.cores)
    resources:
        gpu=lambda wildcards: ASSAY.gpu_resources(wildcards.target)["gpu"],
        gpu_model=lambda wildcards: ASSAY.gpu_resources(wildcards.target)["gpu_model"],
        slurm_partition=lambda wildcards: ASSAY.gpu_resources(wildcards.target)[
            "slurm_partition"
        ],
    params:
        request=ASSAY.request_path,
        run=ASSAY.request.run,
        definition=lambda wildcards: ASSAY.definition("benchmark", wildcards.target),
    message:
        "benchmark: every comparison on {wildcards.target}"
    script:
        "../scripts/step.py"
