localrules:
    judge,


rule judge:
    input:
        DAG.evidence_files(),
        claims=sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("config/**/*.yaml")),
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
