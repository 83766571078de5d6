localrules:
    plan,


rule plan:
    input:
        claims=sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("config/**/*.yaml")),
        kernels=sorted(
            str(p.relative_to(ROOT)) for p in ROOT.glob("kernels/*/kernel.yaml")
        ),
        request=ASSAY.request_files,
    output:
        plan=f"{RUN}/plan.json",
        pipeline=f"{RUN}/pipeline.json",
    log:
        f"{LOGS}/plan.log",
    conda:
        "../envs/host.yaml"
    params:
        request=ASSAY.request_path,
        run=ASSAY.request.run,
    message:
        "plan: which claim is answered how"
    script:
        "../scripts/step.py"
