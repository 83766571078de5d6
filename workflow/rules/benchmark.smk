rule benchmark:
    input:
        correctness=f"{RUN}/{{target}}/correctness/{{comparison}}.json",
        binaries=lambda wildcards: DAG.binaries(wildcards.target, wildcards.comparison),
    output:
        f"{RUN}/{{target}}/benchmark/{{comparison}}.json.gz",
    log:
        f"{LOGS}/{{target}}/benchmark/{{comparison}}.log",
    params:
        request=DAG.request_path,
        run=RUN,
        definition=lambda wildcards: DAG.definition(wildcards.target, wildcards.comparison),
    # A benchmark has the whole machine: compilers beside it would disturb its launches.
    threads: lambda wildcards: workflow.cores if DAG.is_measured_here(wildcards.target) else 1
    resources:
        gpu=lambda wildcards: DAG.gpu_resources(wildcards.target)["gpu"],
        gpu_model=lambda wildcards: DAG.gpu_resources(wildcards.target)["gpu_model"],
        slurm_partition=lambda wildcards: DAG.gpu_resources(wildcards.target)["slurm_partition"],
    message:
        "benchmark: {wildcards.comparison} on {wildcards.target}"
    script:
        "../scripts/step.py"
