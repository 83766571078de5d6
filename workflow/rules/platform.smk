rule platform:
    input:
        # Not the plan, not even an ancient one: Snakemake looks at nothing behind a job that is to
        # run, and a changed definition would go unnoticed beside the new plan that it causes.
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
        definition=lambda wildcards: ASSAY.definition("platform", wildcards.target),
    message:
        "platform: what {wildcards.target} is measured on"
    script:
        "../scripts/step.py"
