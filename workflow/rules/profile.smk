rule profile:
    input:
        platform=f"{RUN}/{{target}}/platform.json",
        correctness=f"{RUN}/{{target}}/correctness/{{comparison}}.json",
        binaries=lambda wildcards: ASSAY.binaries(
            wildcards.target, wildcards.comparison
        ),
    output:
        f"{RUN}/{{target}}/profile/{{comparison}}.{{arm}}.json.gz",
    log:
        f"{LOGS}/{{target}}/profile/{{comparison}}.{{arm}}.log",
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
        definition=lambda wildcards: ASSAY.definition(
            wildcards.target, wildcards.comparison
        ),
    message:
        "profile: {wildcards.arm} of {wildcards.comparison} on {wildcards.target}"
    script:
        "../scripts/step.py"
