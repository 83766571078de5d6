"""sanitizer_tool: the logs of compute-sanitizer, and where the command is."""

from assay.device.tasks.sanitizer_tool import Found, parse_log

RACE = """\
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at bsr_kernel(const Problem)+0x90 in k.cu:41
=========     and Read access at bsr_kernel(const Problem)+0x100 in k.cu:51 [508 hazards]
=========
========= Warning: Race reported between Read access at bsr_kernel(const Problem)+0x90
=========
========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)
"""
MEMCHECK = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at memcheck+0xb0
=========     by thread (32,0,0) in block (0,0,0)
=========     Access at 0x7f0000100100 is out of bounds
=========
========= Invalid __global__ write of size 4 bytes
=========     at memcheck+0xb0
=========     by thread (33,0,0) in block (0,0,0)
=========
========= ERROR SUMMARY: 132 errors
========= ERROR SUMMARY: 32 errors were not printed. Use --print-limit option to adjust
"""
CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"


class TestParse:
    def test_counts_are_of_all_findings_and_messages_stand_once(self):
        assert parse_log(MEMCHECK) == Found(132, 0, ("Invalid __global__ write of size 4 bytes",))

    def test_a_race_counts_by_severity(self):
        found = parse_log(RACE)
        assert (found.errors, found.warnings) == (1, 1)
        assert found.messages[0].startswith("Error: Race reported between Write access")

    def test_a_log_without_a_summary_is_no_finding_and_not_clean(self):
        text = "========= Error: No attachable process found. compute-sanitizer timed-out.\n"
        assert parse_log(text).errors is None
