localrules:
    earlier,


rule earlier:
    output:
        # Its list of files: the report is put in place whole.
        f"{RUN}/earlier/{{report}}/manifest.json",
    log:
        f"{LOGS}/earlier/{{report}}.log",
    conda:
        "../envs/host.yaml"
    params:
        manifest=lambda wildcards: ASSAY.earlier_report(
            wildcards.report
        ).manifest_sha256,
    message:
        "earlier: report {wildcards.report}, taken over whole"
    script:
        "../scripts/step.py"
