localrules:
    sign,


rule sign:
    input:
        f"{DAG.report_dir}/report.html",
        f"{DAG.report_dir}/report.md",
        f"{DAG.report_dir}/verdicts.json",
    output:
        manifest=f"{DAG.report_dir}/manifest.json",
        attestation=f"{DAG.report_dir}/attestation.json",
        key=f"{DAG.report_dir}/signer.pub",
    log:
        f"{LOGS}/sign.log",
    params:
        request=DAG.request_path,
        run=RUN,
    message:
        "sign: manifest and attestation"
    script:
        "../scripts/step.py"
