localrules:
    report,


rule report:
    input:
        verdicts=f"{RUN}/verdicts.json",
        pipeline=f"{RUN}/pipeline.json",
        templates=sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("reports/templates/*")),
    output:
        html=f"{DAG.report_dir}/report.html",
        markdown=f"{DAG.report_dir}/report.md",
        verdicts=f"{DAG.report_dir}/verdicts.json",
    log:
        f"{LOGS}/report.log",
    params:
        request=DAG.request_path,
        run=RUN,
    message:
        "report: render {output.html}"
    script:
        "../scripts/step.py"
