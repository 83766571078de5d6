rule platform:
    input:
        # Each measurement is made again when its own definition changes, not with every plan.
        plan=ancient(f"{RUN}/plan.json"),
        image=lambda wildcards: ASSAY.runner_image(wildcards.target),
    output:
        f"{RUN}/{{target}}/platform.json",
    log:
        f"{LOGS}/{{target}}/platform.log",
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
        definition=lambda wildcards: ASSAY.definition(wildcards.target),
    message:
        "platform: what {wildcards.target} is measured on"
    script:
        "../scripts/step.py"
