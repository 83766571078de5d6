"""Jobs of snakemake-executor-plugin-slurm, asked after as often as the site says.

That plugin waits ten seconds longer after every look that finds no job ended, up to three minutes:
the end of a long stage is seen minutes late, with every stage behind it. All else is the plugin's.

Snakemake finds this by its name on PYTHONPATH, which ./assay sets where it is asked for.
"""

import snakemake_executor_plugin_slurm as theirs
from snakemake_executor_plugin_slurm import ExecutorSettings, common_settings

__all__ = ["Executor", "ExecutorSettings", "common_settings"]


class Executor(theirs.Executor):
    """Waits no longer from one look to the next than ``--seconds-between-status-checks``."""

    @property
    def next_seconds_between_status_checks(self):
        """Return what the plugin would wait, or what it may, in seconds."""
        wanted = super().next_seconds_between_status_checks
        allowed = self.workflow.remote_execution_settings.seconds_between_status_checks
        return min(wanted, allowed)

    @next_seconds_between_status_checks.setter
    def next_seconds_between_status_checks(self, seconds):
        self._next_seconds_between_status_checks = seconds
