localrules:
    judge,


rule judge:
    input:
        ASSAY.evidence_files(),
        configuration=ASSAY.catalog_files(),
    output:
        f"{RUN}/verdicts.json",
    log:
        f"{LOGS}/judge.log",
    conda:
        "../envs/host.yaml"
    message:
        "judge: what the evidence says of each claim"
    script:
        "../scripts/step.py"
