localrules:
    sign,


rule sign:
    input:
        f"{ASSAY.report_dir}/report.html",
        f"{ASSAY.report_dir}/appendix.html",
        f"{ASSAY.report_dir}/report.md",
        f"{ASSAY.report_dir}/verdicts.json",
        request=ASSAY.path("request.json"),
    output:
        manifest=f"{ASSAY.report_dir}/manifest.json",
        attestation=f"{ASSAY.report_dir}/attestation.json",
        key=f"{ASSAY.report_dir}/signer.pub",
    log:
        f"{LOGS}/sign.log",
    conda:
        "../envs/host.yaml"
    message:
        "sign: manifest and attestation"
    script:
        "../scripts/step.py"
