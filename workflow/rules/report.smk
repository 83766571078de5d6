localrules:
    report,


rule report:
    input:
        verdicts=f"{RUN}/verdicts.json",
        pipeline=ASSAY.path("pipeline.json"),
        templates=ASSAY.ours("reports/templates/*"),
    output:
        ASSAY.rendered_files(),
    log:
        f"{LOGS}/report.log",
    conda:
        "../envs/host.yaml"
    message:
        "report: render {output[0]}"
    script:
        "../scripts/step.py"
