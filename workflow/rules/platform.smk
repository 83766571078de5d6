rule platform:
    input:
        plan=f"{RUN}/plan.json",
    output:
        f"{RUN}/{{target}}/platform.json",
    log:
        f"{LOGS}/{{target}}/platform.log",
    params:
        request=DAG.request_path,
        run=RUN,
    resources:
        gpu=lambda wildcards: DAG.gpu_resources(wildcards.target)["gpu"],
        gpu_model=lambda wildcards: DAG.gpu_resources(wildcards.target)["gpu_model"],
        slurm_partition=lambda wildcards: DAG.gpu_resources(wildcards.target)["slurm_partition"],
    message:
        "platform: what {wildcards.target} is measured on"
    script:
        "../scripts/step.py"
