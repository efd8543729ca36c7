"""Classifies series by the published package: a series a line, in JSON, and so its groups."""

import json
import sys

from jumpavg import classify

for line in sys.stdin:
    series = json.loads(line)
    groups = classify(series["runs"], unit=series["unit"], sbps=series["sbps"])
    told = [
        {
            "runs": len(group),
            "samples": group.stats.size,
            "average": group.stats.avg,
            "deviation": group.stats.stdev,
            "bits": group.bits,
            "trend": group.comment,
        }
        for group in groups
    ]
    print(json.dumps({"groups": told, "bits": groups.bits}))
