"""What a site says of the machines that its jobs run on: no part of a catalog, and in no report.

No figure means anything else by it, so a changed one leaves a checkout's tree clean.
"""

from assay.records.cluster import CLUSTER_FILE
from assay.records.kubernetes import KUBERNETES_FILE

SITE_FILES = (CLUSTER_FILE, KUBERNETES_FILE)
"""Below a checkout."""
