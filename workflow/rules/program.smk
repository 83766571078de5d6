rule program:
    input:
        platform=f"{RUN}/{{target}}/platform.json",
        binary=lambda wildcards: DAG.program_binary(wildcards.target, wildcards.job),
    output:
        f"{RUN}/{{target}}/program/{{job}}.json.gz",
    log:
        f"{LOGS}/{{target}}/program/{{job}}.log",
    params:
        request=DAG.request_path,
        run=RUN,
        definition=lambda wildcards: DAG.definition(wildcards.target),
    threads: lambda wildcards: workflow.cores if DAG.is_measured_here(wildcards.target) else 1
    resources:
        gpu=lambda wildcards: DAG.gpu_resources(wildcards.target)["gpu"],
        gpu_model=lambda wildcards: DAG.gpu_resources(wildcards.target)["gpu_model"],
        slurm_partition=lambda wildcards: DAG.gpu_resources(wildcards.target)["slurm_partition"],
    message:
        "program: {wildcards.job} on {wildcards.target}"
    script:
        "../scripts/step.py"
