"""What several GPUs of a machine are held against each other by. Pure."""

from collections.abc import Sequence

from assay.catalog.model import Catalog


def chosen_comparisons(catalog: Catalog, planned: Sequence[str]) -> list[str]:
    """Return the comparisons that every GPU measures, the control first.

    Those of config/judging.yaml that a run measures anyway; else its first.
    """
    wanted = [name for name in catalog.judging.card_comparisons if name in planned]
    return wanted or list(planned[:1])
