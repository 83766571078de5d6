localrules:
    verify,


rule verify:
    input:
        f"{ASSAY.report_dir}/attestation.json",
        f"{ASSAY.report_dir}/manifest.json",
    output:
        f"{RUN}/verified.txt",
    log:
        f"{LOGS}/verify.log",
    conda:
        "../envs/host.yaml"
    message:
        "verify: the report, as its reader would"
    script:
        "../scripts/step.py"
