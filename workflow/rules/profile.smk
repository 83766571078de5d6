rule profile:
    input:
        platform=f"{RUN}/{{target}}/platform.json",
        correctness=f"{RUN}/{{target}}/correctness",
        binaries=lambda wildcards: ASSAY.binaries(wildcards.target),
    output:
        directory(f"{RUN}/{{target}}/profile"),
    log:
        f"{LOGS}/{{target}}/profile.log",
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
        definition=lambda wildcards: ASSAY.definition("profile", wildcards.target),
    message:
        "profile: every arm that is to be, on {wildcards.target}"
    script:
        "../scripts/step.py"
