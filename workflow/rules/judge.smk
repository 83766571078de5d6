localrules:
    judge,


rule judge:
    input:
        DAG.evidence_files(),
    output:
        f"{RUN}/verdicts.json",
    log:
        f"{LOGS}/judge.log",
    params:
        request=DAG.request_path,
        run=RUN,
    message:
        "judge: what the evidence says of each claim"
    script:
        "../scripts/step.py"
