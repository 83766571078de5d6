"""Lists, inside of an image, what is installed there: JSON on standard output.

Arguments: directories of Python packages beside those that Python itself looks into.
"""

import glob
import importlib.metadata
import json
import shutil
import subprocess
import sys

FIELDS = "${Package}\t${Version}\t${Architecture}\t${db:Status-Status}\n"
rows = []
if shutil.which("dpkg-query"):
    command = ["dpkg-query", "-W", "-f", FIELDS]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = [line.split("\t") for line in listed.stdout.splitlines()]
found = {
    (each.metadata["Name"], each.version)
    for each in importlib.metadata.distributions(path=sys.argv[1:] + sys.path)
    if each.metadata and each.metadata["Name"]
}
ncu = [shutil.which("ncu"), *sorted(glob.glob("/usr/local/cuda*/bin/ncu"), reverse=True)]
ncu += sorted(glob.glob("/opt/nvidia/nsight-compute/*/ncu"), reverse=True)
print(
    json.dumps(
        {
            "debian": sorted(row[:3] for row in rows if row[3] == "installed"),
            "python": sorted(map(list, found)),
            "ncu": next((path for path in ncu if path), None),
        }
    )
)
