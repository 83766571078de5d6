# All stages of a target in one job, which has the target's GPU to itself. What they are is in the
# table of stages (src/assay/evidence/stages.py).


rule measure:
    input:
        ASSAY.inputs,
    output:
        f"{RUN}/measured/{{target}}",
    log:
        f"{LOGS}/{{target}}/measure.log",
    conda:
        "../envs/host.yaml"
    # Here a measurement has the whole machine: compilers beside it would disturb its launches.
    threads: workflow.cores if ASSAY.request.executor == "local" else 1
    resources:
        **ASSAY.gpu_resources(),
    params:
        # Measure when it changes.
        definition=lambda wildcards: ASSAY.definitions(wildcards.target).whole(),
    message:
        "measure: {wildcards.target}"
    script:
        "../scripts/step.py"
