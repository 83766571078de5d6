localrules:
    verify,


rule verify:
    input:
        f"{DAG.report_dir}/attestation.json",
        f"{DAG.report_dir}/manifest.json",
    output:
        f"{RUN}/verified.txt",
    log:
        f"{LOGS}/verify.log",
    params:
        request=DAG.request_path,
        run=RUN,
    message:
        "verify: the report, as its reader would"
    script:
        "../scripts/step.py"
