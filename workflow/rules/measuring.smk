# The stages of a target: each that measures has the target's GPU to itself, and one step makes all
# records of a target. What they are is in the table of stages (src/assay/evidence/stages.py).


for STAGE in ASSAY.stages:

    rule:
        name:
            STAGE.stage
        input:
            ASSAY.inputs(STAGE),
        output:
            directory(ASSAY.output(STAGE)) if STAGE.each else ASSAY.output(STAGE),
        log:
            f"{LOGS}/{{target}}/{STAGE.stage}.log",
        priority: ASSAY.priority(STAGE)
        conda:
            "../envs/host.yaml"
        threads: ASSAY.threads(STAGE, workflow.cores)
        resources:
            **ASSAY.gpu_resources(),
        params:
            definition=ASSAY.definition(STAGE),
        message:
            "{rule}: {wildcards.target}"
        script:
            "../scripts/step.py"
