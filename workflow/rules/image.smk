localrules:
    toolchain_image,


rule toolchain_image:
    input:
        # Docker's own layer of caches must not decide: the step compares digests of what it finds.
        definition=sorted(
            ASSAY.ours(str(p.relative_to(ROOT)))
            for p in ROOT.glob("containers/*.*")
            if p.is_file()
        ),
        lock=ASSAY.ours("requirements/toolchain.txt"),
    output:
        record=f"{RUN}/images/{{target}}.json",
    log:
        f"{LOGS}/images/{{target}}.log",
    conda:
        "../envs/host.yaml"
    message:
        "image: compilers for {wildcards.target}"
    script:
        "../scripts/step.py"


use rule platform as runner_image with:
    input:
        definition=sorted(
            ASSAY.ours(str(p.relative_to(ROOT)))
            for p in ROOT.glob("containers/*.*")
            if p.is_file()
        ),
        lock=ASSAY.ours("requirements/runner.txt"),
    output:
        record=f"{RUN}/{{target}}/image.json",
    log:
        f"{LOGS}/{{target}}/image.log",
    params:
        definition=lambda wildcards: ASSAY.definition("image", wildcards.target),
    message:
        "image: what {wildcards.target} is measured in"
