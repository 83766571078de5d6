"""All configuration of one tree, as judging and planning see it. Pure."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches

from assay.base.errors import BadInput
from assay.records.claims import Audit, Claim, SourceClaims
from assay.records.kernels import OperatorKernel, OriginalProgram, Probe, Variant
from assay.records.originals import OriginalSource, PublishedFile
from assay.records.platform import Target
from assay.records.rivals import Rival, TuningChoice, TuningFile
from assay.records.workloads import Comparison, Judging, Protocol, Workload

NO_TUNING = TuningFile(schema="assay/tuning/1")
"""What evidence holds that was recorded before there was a config/tuning.yaml."""


def claim_files(catalog: "Catalog", sources: Iterable[str]) -> tuple[str, ...]:
    """Return the evidence paths of what states the claims of sources."""
    if catalog.project is not None:
        return ("project/assay.yaml",)
    return tuple(f"config/claims/{source}.yaml" for source in sources)


@dataclass(frozen=True)
class ProjectFacts:
    """What a catalog says of the project whose claims it holds, beside them."""

    title: str
    sha256: str
    files: tuple[str, ...]
    measures: frozenset[str] = frozenset()
    """Comparisons that run its code."""


@dataclass(frozen=True)
class Catalog:
    """All configuration of one tree, each noun by its id, in file order."""

    sources: dict[str, SourceClaims]
    claims: dict[str, Claim]
    audits: dict[str, Audit]
    source_of: dict[str, str]
    """Source id of each claim and audit."""
    targets: dict[str, Target]
    workloads: dict[str, Workload]
    comparisons: dict[str, Comparison]
    protocols: dict[str, Protocol]
    variants: dict[str, Variant]
    programs: dict[str, OriginalProgram]
    probes: dict[str, Probe]
    kernel_folder: dict[str, str]
    """Folder under kernels/ of each variant and probe."""
    judging: Judging
    dynamic_shared: dict[str, dict[str, str]] = field(default_factory=dict)
    """Of each source below the root: by kernel, the constant of its dynamic shared memory."""
    tuning: TuningFile = NO_TUNING
    operators: tuple[OperatorKernel, ...] = ()
    rivals: dict[str, Rival] = field(default_factory=dict)
    """Optional packages; none in evidence from before they were listed."""
    project: ProjectFacts | None = None
    """Of a project of one's own; None where Assay's own sources are judged."""

    def check_selection(self, sources: Iterable[str], targets: Iterable[str]) -> None:
        """Raise BadInput for the first source or target that there is none of."""
        for noun, names, known in (
            ("source", sources, sorted(self.sources)),
            ("target", targets, sorted(self.targets)),
        ):
            for name in names:
                if name not in known:
                    raise BadInput(f"there is no {noun} '{name}'; known: {', '.join(known)}")

    def published_file(self, source: str, name: str) -> PublishedFile | None:
        """Return the file of a source that has an id; None where it lists none of that id."""
        listed = self.sources[source].compilations if source in self.sources else ()
        return next((each for each in listed if each.id == name), None)

    def choices_to_hold(self, target: str) -> tuple[TuningChoice, ...]:
        """Return a target's tuned choices, and for every sweep of its architecture that none of
        them is for, the one that the sweep begins with.
        """
        found = list(self.tuning.of(target))
        for sweep in self.tuning.sweeps:
            arms = {arm.id: arm for arm in self.comparisons[sweep.begin.comparison].arms}
            arm = arms[sweep.begin.arm]
            if self.targets[target].arch in (sweep.archs or self.variants[arm.variant].archs):
                begun = sweep.choice(target, arm.variant, self.workloads[arm.workload])
                made = self.tuning.of(target)
                if not any(m.key() == begun.key() and m.shapes.meets(begun.shapes) for m in made):
                    found.append(begun)
        return tuple(found)

    def program_of(self, claim: str) -> tuple[str, OriginalSource] | None:
        """Return the author's program that prints a claim's figure, with the source that names it:
        the claim's own, or another by the same author; None where none does.
        """
        for source in (self.source_of[claim], *self.sources):
            if (program := self.sources[source].program_of(claim)) is not None:
                return source, program
        return None

    def claims_of(self, sources: Iterable[str], only: Collection[str] = ()) -> Iterator[Claim]:
        """Yield claims of the given sources, in file order; ``only`` these, where any is named."""
        for source in sources:
            yield from (c for c in self.sources[source].claims if not only or c.id in only)

    def sources_of(self, claims: Iterable[str]) -> tuple[str, ...]:
        """Return the sources of claims and audits, in file order. Raises BadInput for one that
        there is not.
        """
        wanted = set()
        for name in claims:
            if name not in self.source_of:
                near = get_close_matches(name, self.source_of, n=3)
                meant = f"; did you mean {' or '.join(near)}?" if near else ""
                raise BadInput(f"there is no claim '{name}'{meant} (./assay claims lists them)")
            wanted.add(self.source_of[name])
        return tuple(source for source in self.sources if source in wanted)
