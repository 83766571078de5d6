localrules:
    judge,


rule judge:
    input:
        ASSAY.evidence_files(),
        claims=sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("config/**/*.yaml")),
    output:
        f"{RUN}/verdicts.json",
    log:
        f"{LOGS}/judge.log",
    conda:
        "../envs/host.yaml"
    params:
        request=ASSAY.request_path,
        run=ASSAY.request.run,
    message:
        "judge: what the evidence says of each claim"
    script:
        "../scripts/step.py"
