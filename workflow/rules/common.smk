# Loads and validates what the run is bound to; nothing more.

import shlex
import sys
from pathlib import Path

ROOT = Path(workflow.basedir)
sys.path.insert(0, str(ROOT / "src"))

# Snakemake writes this path into shell lines without quotes, and a checkout's may have spaces.
sys.executable = shlex.quote(sys.executable)

from assay.pipeline.dag import load_dag

ASSAY = load_dag(ROOT, config.get("run"))
RUN = ASSAY.run_dir
LOGS = f"{RUN}/logs"


wildcard_constraints:
    arch="(sm|compute)_[0-9]+a?",
    target="|".join(ASSAY.targets) or "none",
    artifact="[a-z0-9_]+",
    report="[a-z0-9_]+",
