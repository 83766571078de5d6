localrules:
    sign,


rule sign:
    input:
        ASSAY.rendered_files(),
        request=ASSAY.path("request.json"),
    output:
        ASSAY.signed_files(),
    log:
        f"{LOGS}/sign.log",
    conda:
        "../envs/host.yaml"
    message:
        "sign: manifest and attestation"
    script:
        "../scripts/step.py"
