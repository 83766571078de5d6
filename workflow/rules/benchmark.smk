rule benchmark:
    input:
        correctness=f"{RUN}/{{target}}/correctness/{{comparison}}.json",
        binaries=lambda wildcards: ASSAY.binaries(
            wildcards.target, wildcards.comparison
        ),
    output:
        f"{RUN}/{{target}}/benchmark/{{comparison}}.json.gz",
    log:
        f"{LOGS}/{{target}}/benchmark/{{comparison}}.log",
    conda:
        "../envs/host.yaml"
    # A benchmark has the whole machine: compilers beside it would disturb its launches.
    threads: lambda wildcards: workflow.cores if ASSAY.is_measured_here(wildcards.target) else 1
    resources:
        gpu=lambda wildcards: ASSAY.gpu_resources(wildcards.target)["gpu"],
        gpu_model=lambda wildcards: ASSAY.gpu_resources(wildcards.target)["gpu_model"],
        slurm_partition=lambda wildcards: ASSAY.gpu_resources(wildcards.target)[
            "slurm_partition"
        ],
    params:
        request=ASSAY.request_path,
        run=ASSAY.request.run,
        definition=lambda wildcards: ASSAY.definition(
            wildcards.target, wildcards.comparison
        ),
    message:
        "benchmark: {wildcards.comparison} on {wildcards.target}"
    script:
        "../scripts/step.py"
