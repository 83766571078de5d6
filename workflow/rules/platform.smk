rule platform:
    input:
        # Each measurement is made again when its own definition changes, not with every plan.
        plan=ancient(f"{RUN}/plan.json"),
    output:
        f"{RUN}/{{target}}/platform.json",
    log:
        f"{LOGS}/{{target}}/platform.log",
    params:
        request=DAG.request_path,
        run=RUN,
        definition=lambda wildcards: DAG.definition(wildcards.target),
    resources:
        gpu=lambda wildcards: DAG.gpu_resources(wildcards.target)["gpu"],
        gpu_model=lambda wildcards: DAG.gpu_resources(wildcards.target)["gpu_model"],
        slurm_partition=lambda wildcards: DAG.gpu_resources(wildcards.target)["slurm_partition"],
    message:
        "platform: what {wildcards.target} is measured on"
    script:
        "../scripts/step.py"
