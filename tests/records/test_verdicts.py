"""A verdict status is one entry of one table, and everything else follows."""

from assay.records.verdicts import Status


class TestTheTable:
    """Its entries can be told apart and put in order."""

    def test_drawn_ones_have_colours_and_marks_of_their_own(self) -> None:
        drawn = [status.facts for status in Status if status.facts.mark]
        assert len({facts.light for facts in drawn}) == len(drawn)
        assert len({facts.mark for facts in drawn}) == len(drawn)

    def test_of_several_terms_the_worst_comes_first(self) -> None:
        terms = [
            status
            for status in Status
            if status not in (Status.CONSISTENT, Status.INCONSISTENT, Status.ELSEWHERE)
        ]
        assert sorted(terms, key=lambda status: status.facts.severity) == [
            Status.INCORRECT, Status.NOT_REPRODUCED, Status.MISSTATED, Status.NOT_RUN,
            Status.INCONCLUSIVE, Status.REPRODUCED, Status.EXCEEDED,
        ]  # fmt: skip
