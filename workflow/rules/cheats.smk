rule cheats:
    input:
        platform=f"{RUN}/{{target}}/platform.json",
    output:
        f"{RUN}/{{target}}/cheats.json",
    log:
        f"{LOGS}/{{target}}/cheats.log",
    # Short, and a machine unfit to measure shows here: before the stages that take minutes.
    priority: 1
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
        definition=lambda wildcards: ASSAY.definition("cheats", wildcards.target),
    message:
        "cheats: kernels that cheat, on {wildcards.target}"
    script:
        "../scripts/step.py"
