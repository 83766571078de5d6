"""Everything of a project that would fail later, found without a GPU and without running it."""

import os
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.base.errors import BadInput
from assay.base.io import read_bytes, read_text
from assay.base.pip_locks import TOOLCHAIN_LOCK, lock_versions
from assay.base.printable import with_short_names
from assay.base.yaml_problems import first_told, suggest
from assay.catalog.code_outline import function_problems
from assay.catalog.load import CheckedProject, check_project
from assay.catalog.model import Catalog
from assay.catalog.project_folder import PROJECT_FILE
from assay.judging.answers import Asked, make_answers
from assay.judging.impossible_figures import impossible_figures, uncomputable
from assay.judging.needs import comparisons_of
from assay.pipeline.run_files import foreign_place
from assay.records.evaluations import Benchmark, Inspection, NotRun, Unanswerable
from assay.records.kernels import Variant
from assay.records.plan import Provision
from assay.records.platform import is_for
from assay.records.units import short
from assay.shared.counting import counted
from assay.shared.files import sha256_bytes
from assay.shared.read_limits import MOST_CODE, MOST_REPORT
from assay.verification.trusted_keys import load_trusted_keys, project_keys

Found = tuple[str, str, str]
"""An entry of the project's file, the part of it that is wrong, and what is wrong."""


@dataclass(frozen=True, order=True)
class ProjectProblem:
    """One thing that is wrong, and where."""

    file: str
    """Relative to the project."""
    line: int
    says: str

    def __str__(self) -> str:
        """Return it as a line for people."""
        return f"{self.file}, line {self.line}: {with_short_names(self.says)}"


def sound_project(root: Path, folder: Path) -> Catalog:
    """Return a project's catalog. Raises BadInput with all that ``./assay check`` finds wrong."""
    checked = check_project(root, folder)
    if problems := every_problem(root, checked):
        head = f"{folder}: {counted(len(problems), 'problem')}"
        raise BadInput("\n  ".join([head, *first_told(problems)]))
    return checked.catalog


def every_problem(root: Path, checked: CheckedProject) -> list[ProjectProblem]:
    """Return what is wrong with a project, by file and line; beyond its own file once that is well
    formed. ``root``: of the repository, whose lock pins packages.
    """
    found = [ProjectProblem(PROJECT_FILE, each.line, each.says) for each in checked.problems]
    if (says := foreign_place(checked.own.folder)) is not None:
        found.append(ProjectProblem(PROJECT_FILE, 1, says))
    elif checked.catalog.project is not None:
        found += _beyond_reading(root, checked)
    return sorted(dict.fromkeys(found))


def impossible_problems(
    catalog: Catalog, place: Callable[[str], tuple[str, int]]
) -> list[ProjectProblem]:
    """Return every figure that arithmetic contradicts, in order; ``reproduce`` judges them."""
    found = (
        ProjectProblem(*place(each.of), f"{called(catalog, each.of)}: {each.says}")
        for each in impossible_figures(catalog)
    )
    return sorted(found)


def impossible_remarks(catalog: Catalog) -> Iterator[str]:
    """Yield a remark on each published figure that arithmetic contradicts, before anything runs."""
    for each in impossible_figures(catalog):
        yield f"remark: {called(catalog, each.of)}: {each.says}"


def called(catalog: Catalog, name: str) -> str:
    """Return how a sentence calls a claim, an audit or a measurement."""
    noun = "measurement" if name in catalog.workloads else "claim"
    return f"{'audit' if name in catalog.audits else noun} '{name}'"


def _beyond_reading(root: Path, checked: CheckedProject) -> Iterator[ProjectProblem]:
    """Yield what is wrong with a project beyond what reading its file found."""
    catalog, folder = checked.catalog, checked.own.folder

    try:
        load_trusted_keys(project_keys(folder))  # with which verifying would end
    except BadInput as error:
        file, _, says = str(error).removeprefix(f"{folder}/").partition(": ")
        yield ProjectProblem(file, 1, says)
    measured = set(comparisons_of(catalog, catalog.claims.values()))
    found = list[Found]()
    for name in sorted(catalog.project.measures if catalog.project else ()):
        workload = catalog.workloads[name]
        file = workload.code.file if workload.code else PROJECT_FILE
        for line, says in function_problems(folder, workload):
            yield ProjectProblem(file, line, f"measurement '{name}': {says}")
        found += _compiled_arms(catalog, folder, name)
        if name not in measured and not checked.problems:  # else a claim may be left out here
            found.append((name, "", "no claim is answered by it: leave it out"))
    found += [*_unpinned(root, catalog), *_unanswered(catalog), *_meaningless_numbers(catalog)]
    found = [(of, part, f"{called(catalog, of)}: {says}") for of, part, says in found]
    found += [(of, "file", f"source '{of}': {says}") for of, says in _documents(catalog, folder)]
    found += [(of, "", f"command '{of}': {says}") for of, says in _commands(catalog, folder)]
    for of, part, says in found:
        yield ProjectProblem(PROJECT_FILE, checked.own.line_of(of, part), says)


def _commands(catalog: Catalog, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield commands whose lines name files of the folder that are not copied with the project."""
    copied = {Path(name) for name in (catalog.project.files if catalog.project else ())}
    folders = {parent for name in copied for parent in name.parents}
    commands = (each for source in catalog.sources.values() for each in source.commands)
    for command in commands if copied else ():  # which is said of the files
        where = Path(os.path.normpath(command.directory))
        if where not in folders:
            yield command.id, f"directory: no file of the project lies in {where}"
            continue
        lines = (command.build, command.run, command.typed)
        words = list[str]()
        for line in (each.line for each in lines if each):
            try:
                words += shlex.split(line)
            except ValueError:  # a quote that does not end
                words += line.split()
        for name in (Path(os.path.normpath(where / word)) for word in dict.fromkeys(words)):
            inside = not name.is_absolute() and ".." not in name.parts
            # A word may be too long for a name, which this answers, too.
            if inside and name not in copied and os.path.isfile(folder / name):  # noqa: PTH113
                says = f"{name} is not copied to where it runs: name it under files"
                yield command.id, says


def _documents(catalog: Catalog, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield documents that lie in the project and are others than those that it names."""
    for name, source in ((name, entry.source) for name, entry in catalog.sources.items()):
        if source.file is not None and (folder / source.file).is_file():
            try:
                found = sha256_bytes(read_bytes(folder / source.file, MOST_REPORT))
                if found != source.sha256:
                    yield name, f"{source.file} has SHA-256 {found}, not {source.sha256}"
            except BadInput as error:
                yield name, f"its document cannot be compared: {error}"


def _compiled_arms(catalog: Catalog, folder: Path, measurement: str) -> Iterator[Found]:
    """Yield what is wrong with the arms of a measurement that are compiled."""
    targets = {
        target
        for claim in catalog.claims.values()
        if isinstance(claim.evaluation, Benchmark)
        and any(term.comparison == measurement for term in claim.evaluation.terms)
        for target in claim.hardware.targets
        if target in catalog.targets  # which is said elsewhere
    }
    for arm in catalog.comparisons[measurement].arms:
        variant = catalog.variants[arm.variant]
        if variant.kind == "kernel":
            for problem in _kernel_problems(catalog, folder, variant, sorted(targets)):
                yield measurement, arm.id, f"arm '{arm.id}': {problem}"


def _kernel_problems(
    catalog: Catalog, folder: Path, variant: Variant, targets: list[str]
) -> Iterator[str]:
    file = variant.source or ""
    try:
        text = read_text(folder / file, MOST_CODE)
    except BadInput as error:
        yield str(error)
        return
    if re.search(rf"\b{variant.symbol}\s*\(", text) is None:
        defined = re.findall(r"\b([A-Za-z_]\w*)\s*\(", text)
        yield f"{file} defines no '{variant.symbol}'{suggest(variant.symbol or '', defined)}"
    elif 'extern "C"' not in text:
        yield f'{file} has no extern "C" in it: nobody would find its launcher'
    for target in targets:
        arch = catalog.targets[target].arch
        if not is_for(variant.archs, arch):
            says = f"archs: it is not compiled for {arch}, which {target} of a claim needs"
            yield f"{says}: add {arch}"


def _meaningless_numbers(catalog: Catalog) -> Iterator[Found]:
    """Yield numbers that mean nothing, and relations that have no value."""
    yield from ((name, "", says) for name, says in uncomputable(catalog))
    given = [(claim.id, "resolution", claim.value, claim.resolution)
             for claim in catalog.claims.values()]  # fmt: skip
    for audit in catalog.audits.values():
        for operand in filter(None, (*audit.operands, audit.claimed)):
            given += [(audit.id, "", each.value, each.resolution) for each in operand.parts()]
    for name, part, value, resolution in given:
        if value and resolution and resolution > value:
            figures = f"{short(resolution)} is more than the figure itself, {short(value)}"
            yield name, part, f"resolution: {figures}: it is one unit of the figure's last digit"
    for name in sorted(catalog.project.measures if catalog.project else ()):
        if (tolerance := catalog.workloads[name].relative_tolerance) >= 1:
            says = f"relative_tolerance: {short(tolerance)} lets zeros pass for any answer"
            yield name, "relative_tolerance", f"{says}: it is below 1"


def _unpinned(root: Path, catalog: Catalog) -> Iterator[Found]:
    """Yield claims on files of packages that the toolchain has not."""
    pinned = lock_versions(root / TOOLCHAIN_LOCK)
    for claim in catalog.claims.values():
        inspected = claim.evaluation
        if isinstance(inspected, Inspection) and inspected.package not in pinned:
            says = f"pins no package '{inspected.package}'{suggest(inspected.package, pinned)}"
            yield claim.id, "answer", f"{TOOLCHAIN_LOCK} {says}"


def _unanswered(catalog: Catalog) -> Iterator[Found]:
    """Yield claims that would not be answered, were every target there that they are for."""
    for claim in catalog.claims.values():
        supposed = tuple(
            Provision(target=name, kind="device", recorded_in=None, detail="supposed")
            for name in claim.hardware.targets or tuple(catalog.targets)[:1]
        )
        answers = list(make_answers(catalog, Asked((), supposed, frozenset()), [claim]))
        if not answers:
            yield claim.id, "answer", "nothing answers it"
        for answer in answers:
            stated = isinstance(claim.evaluation, Unanswerable)
            # An original runs where a checkout is given.
            runs = answer.way != "not_run" or answer.reason is NotRun.ORIGINAL_UNAVAILABLE
            if not (runs or stated):
                place = f" on {answer.target}" if answer.target else ""
                why = answer.reason.value if answer.reason else "nobody knows why"
                yield claim.id, "answer", f"no job answers it{place} ({why}): {answer.detail}"
