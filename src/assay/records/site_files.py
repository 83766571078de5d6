"""What a site says of the machines that its jobs run on: no part of a catalog, and in no report.

No figure means anything else by it, so a changed one leaves a checkout's tree clean.
"""

from assay.records.cluster import CLUSTER_FILE

SITE_FILES = (CLUSTER_FILE, "config/kubernetes.yaml")
"""Below a checkout. Commits that published reports name hold the second one."""
