localrules:
    toolchain_image,


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
