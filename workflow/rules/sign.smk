localrules:
    sign,


rule sign:
    input:
        f"{ASSAY.report_dir}/report.html",
        f"{ASSAY.report_dir}/report.md",
        f"{ASSAY.report_dir}/verdicts.json",
    output:
        manifest=f"{ASSAY.report_dir}/manifest.json",
        attestation=f"{ASSAY.report_dir}/attestation.json",
        key=f"{ASSAY.report_dir}/signer.pub",
    log:
        f"{LOGS}/sign.log",
    conda:
        "../envs/host.yaml"
    params:
        request=ASSAY.request_path,
        run=ASSAY.request.run,
    message:
        "sign: manifest and attestation"
    script:
        "../scripts/step.py"
