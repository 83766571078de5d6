localrules:
    build,
    file_compile,
    inspect,


rule build:
    input:
        # What is included counts as much as what is compiled, and nothing else does.
        sources=ASSAY.sources,
        lock=ASSAY.ours("requirements/toolchain.txt"),
        image=lambda wildcards: ASSAY.toolchain_image(wildcards.arch),
    output:
        f"{RUN}/builds/{{arch}}/{{artifact}}.json",
    log:
        f"{LOGS}/build/{{arch}}/{{artifact}}.log",
    # Longest first: what takes minutes and starts last would run alone at the end.
    priority: ASSAY.build_priority
    conda:
        "../envs/host.yaml"
    resources:
        # Not mem_mb: a limit on that would hold back a cluster's jobs with this machine's memory.
        compile_mb=ASSAY.build_memory_mb,
    params:
        # In the place of kernel.yaml, which describes other kernels too.
        key=lambda wildcards: ASSAY.described(wildcards).key,
    message:
        "build: {wildcards.artifact} for {wildcards.arch}"
    script:
        "../scripts/step.py"


rule file_compile:
    input:
        lock=ASSAY.ours("requirements/toolchain.txt"),
        image=lambda wildcards: ASSAY.toolchain_image(wildcards.arch),
    output:
        f"{RUN}/compiled_files/{{arch}}/{{artifact}}.json",
    log:
        f"{LOGS}/file_compile/{{arch}}/{{artifact}}.log",
    conda:
        "../envs/host.yaml"
    params:
        definition=ASSAY.file_compile,
    message:
        "file_compile: {wildcards.artifact}, as published, for {wildcards.arch}"
    script:
        "../scripts/step.py"


rule inspect:
    input:
        plan=ASSAY.path("plan.json"),
        request=ASSAY.path("request.json"),
        configuration=ASSAY.catalog_files(),
        lock=ASSAY.ours("requirements/toolchain.txt"),
    output:
        f"{RUN}/inspections.json",
    log:
        f"{LOGS}/inspect.log",
    conda:
        "../envs/host.yaml"
    message:
        "inspect: count in the files of pinned packages"
    script:
        "../scripts/step.py"
