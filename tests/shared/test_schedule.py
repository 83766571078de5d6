"""schedule: ABBA blocks in random order, a share of turns checked."""

import random

from assay.shared.schedule import block_order, plan_blocks


class TestBlockOrder:
    def test_second_half_mirrors_the_first(self):
        order = block_order(["a", "b", "c"], random.Random(3))
        assert order[3:] == order[:3][::-1]
        assert sorted(order[:3]) == ["a", "b", "c"]


class TestPlanBlocks:
    def test_every_name_has_two_turns_a_block(self):
        plan = plan_blocks(["a", "control"], blocks=4, checked_share=0.25, seed="c:0")
        assert len(plan) == 4
        for block in plan:
            names = [slot.name for slot in block]
            assert names.count("a") == names.count("control") == 2

    def test_checks_the_asked_share_of_each_name(self):
        plan = plan_blocks(["a", "b"], blocks=4, checked_share=0.25, seed="c:0")
        for name in ("a", "b"):
            checked = sum(slot.checked for block in plan for slot in block if slot.name == name)
            assert checked == 2
