# Loads and validates the configuration and the request; nothing more.

import os
import sys
from pathlib import Path

ROOT = Path(workflow.basedir)
sys.path.insert(0, str(ROOT / "src"))

from assay.dag import load_dag

DAG = load_dag(ROOT, config.get("request"))
RUN = DAG.run_dir
LOGS = f"{RUN}/logs"

os.environ["PYTHONPATH"] = str(ROOT / "src")


wildcard_constraints:
    arch="sm_[0-9]+a?",
    target="|".join(DAG.catalog.targets),
    comparison="|".join(DAG.catalog.comparisons),
    artifact="[a-z0-9_]+",
    job="[a-z0-9_]+",
    arm="[a-z0-9_]+",
