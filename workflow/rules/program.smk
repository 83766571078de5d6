rule program:
    input:
        platform=f"{RUN}/{{target}}/platform.json",
        binary=lambda wildcards: ASSAY.program_binary(wildcards.target, wildcards.job),
    output:
        f"{RUN}/{{target}}/program/{{job}}.json.gz",
    log:
        f"{LOGS}/{{target}}/program/{{job}}.log",
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
        definition=lambda wildcards: ASSAY.definition(wildcards.target),
    message:
        "program: {wildcards.job} on {wildcards.target}"
    script:
        "../scripts/step.py"
