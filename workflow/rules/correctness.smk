rule correctness:
    input:
        platform=f"{RUN}/{{target}}/platform.json",
        binaries=lambda wildcards: DAG.binaries(wildcards.target, wildcards.comparison),
    output:
        f"{RUN}/{{target}}/correctness/{{comparison}}.json",
    log:
        f"{LOGS}/{{target}}/correctness/{{comparison}}.log",
    params:
        request=DAG.request_path,
        run=RUN,
        definition=lambda wildcards: DAG.definition(wildcards.target, wildcards.comparison),
    resources:
        gpu=lambda wildcards: DAG.gpu_resources(wildcards.target)["gpu"],
        gpu_model=lambda wildcards: DAG.gpu_resources(wildcards.target)["gpu_model"],
        slurm_partition=lambda wildcards: DAG.gpu_resources(wildcards.target)["slurm_partition"],
    message:
        "correctness: {wildcards.comparison} on {wildcards.target}"
    script:
        "../scripts/step.py"
