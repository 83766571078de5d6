localrules:
    build,
    inspect,


rule build:
    input:
        sources=sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("kernels/*/*.cu")),
        manifests=sorted(
            str(p.relative_to(ROOT)) for p in ROOT.glob("kernels/*/kernel.yaml")
        ),
        lock="requirements/toolchain.txt",
        image=lambda wildcards: ASSAY.toolchain_image(wildcards.arch),
    output:
        f"{RUN}/builds/{{arch}}/{{artifact}}.json",
    log:
        f"{LOGS}/build/{{arch}}/{{artifact}}.log",
    conda:
        "../envs/host.yaml"
    params:
        request=ASSAY.request_path,
        run=ASSAY.request.run,
    message:
        "build: {wildcards.artifact} for {wildcards.arch}"
    script:
        "../scripts/step.py"


rule inspect:
    input:
        plan=f"{RUN}/plan.json",
        lock="requirements/toolchain.txt",
    output:
        f"{RUN}/inspections.json",
    log:
        f"{LOGS}/inspect.log",
    conda:
        "../envs/host.yaml"
    params:
        request=ASSAY.request_path,
        run=ASSAY.request.run,
    message:
        "inspect: count in the files of pinned packages"
    script:
        "../scripts/step.py"
