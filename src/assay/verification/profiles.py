"""Whether what is told of Nsight Compute's metrics is what its own page says. Pure."""

from assay.evidence.model import Evidence
from assay.evidence.nsight_csv import longest_kernel
from assay.evidence.stages import PROFILES
from assay.records.profile import ProfileRecord
from assay.verification.contradictions import Findings, names


def check_profiles(evidence: Evidence, findings: Findings) -> Findings:
    """Add records whose kernel, metrics or units are not those of the raw page that they hold."""
    for key, record in evidence.profiles.items():
        if record.status != "collected":
            continue
        if record.raw_page is None:
            findings.leave("that metrics are those of Nsight Compute's page, which is not recorded")
        elif wrong := _wrong(record, record.raw_page):
            says = f"{PROFILES.path(*key)}: its page says otherwise of {names(wrong)}"
            findings.refuse("profile", says)
    return findings


def _wrong(record: ProfileRecord, page: str) -> set[str]:
    try:
        kernel = longest_kernel(page)
    except ValueError:
        return {"everything: it holds no kernel"}
    wrong = {
        name
        for name, value in record.metrics.items()
        if (value, record.units.get(name)) != (kernel.values.get(name), kernel.units.get(name))
    }
    return wrong | ({"the kernel"} if record.kernel != kernel.name else set())
