localrules:
    report,


rule report:
    input:
        verdicts=f"{RUN}/verdicts.json",
        pipeline=ASSAY.path("pipeline.json"),
        templates=ASSAY.ours("reports/templates/*"),
    output:
        html=f"{ASSAY.report_dir}/report.html",
        appendix=f"{ASSAY.report_dir}/appendix.html",
        markdown=f"{ASSAY.report_dir}/report.md",
        verdicts=f"{ASSAY.report_dir}/verdicts.json",
    log:
        f"{LOGS}/report.log",
    conda:
        "../envs/host.yaml"
    message:
        "report: render {output.html}"
    script:
        "../scripts/step.py"
