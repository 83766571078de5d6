# Steps of the run as a whole: images, reports taken over, verdicts, and what is made of them.


localrules:
    toolchain_image,
    earlier,
    report,
    sign,


rule toolchain_image:
    input:
        # Docker's own layer of caches must not decide: the step compares digests of what it finds.
        ASSAY.ours("containers/*.*", "requirements/toolchain.txt"),
    output:
        f"{RUN}/images/{{target}}.json",
    log:
        f"{LOGS}/images/{{target}}.log",
    conda:
        "../envs/host.yaml"
    message:
        "image: compilers for {wildcards.target}"
    script:
        "../scripts/step.py"


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


rule report:
    input:
        ASSAY.evidence_files(),
        configuration=ASSAY.catalog_files(),
        pipeline=ASSAY.path("pipeline.json"),
        templates=ASSAY.ours("reports/templates/*"),
    output:
        ASSAY.rendered_files(),
        verdicts=f"{RUN}/verdicts.json",
    log:
        f"{LOGS}/report.log",
    conda:
        "../envs/host.yaml"
    message:
        "report: judge and render {output[0]}"
    script:
        "../scripts/step.py"


rule sign:
    input:
        ASSAY.rendered_files(),
        request=ASSAY.path("request.json"),
    output:
        ASSAY.signed_files(),
        verified=f"{RUN}/verified.txt",
    log:
        f"{LOGS}/sign.log",
    conda:
        "../envs/host.yaml"
    message:
        "sign: and verify, as its reader would"
    script:
        "../scripts/step.py"
