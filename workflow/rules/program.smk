rule program:
    input:
        platform=f"{RUN}/{{target}}/platform.json",
        binaries=lambda wildcards: ASSAY.program_binaries(wildcards.target),
    output:
        directory(f"{RUN}/{{target}}/program"),
    log:
        f"{LOGS}/{{target}}/program.log",
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
        definition=lambda wildcards: ASSAY.definition("program", wildcards.target),
    message:
        "program: every original program on {wildcards.target}"
    script:
        "../scripts/step.py"
