"""A report as a command that takes several got it. Pure."""

from dataclasses import dataclass

from assay.records.report_figures import ReportFigures


@dataclass(frozen=True)
class GivenReport:
    """A report as a command got it, and whether it verified."""

    name: str
    """Of its directory or archive; with the run's, where that is another."""
    path: str
    figures: ReportFigures
    keyid: str | None
    """Of the trusted key that signed it; None where it does not verify, and is not intact."""
    note: str
    """One line: who vouches, or what is wrong."""
    unproven: tuple[str, ...] = ()
    signer: str = ""
    """The verifier's own name for that key; empty where it does not verify."""
    holder: str = ""
    """Who signs with that key: several keys of one holder are one signer."""
    judged: bool = True
    """Whether this version's rules and pages are its own; else it is intact at most."""

    @property
    def intact(self) -> bool:
        """Return whether it is as a trusted key signed it, and complete."""
        return self.keyid is not None

    @property
    def verified(self) -> bool:
        """Return whether every check of it holds."""
        return self.intact and self.judged

    @property
    def mark(self) -> str:
        """Return what stands before each of its figures: nothing where it is verified."""
        return "" if self.verified else "intact, " if self.intact else "unverified, "
