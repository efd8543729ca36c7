"""Classifies series by the published package: a series a line, in JSON, and so its groups.

Of a line with early, middle and late samples it tells the bits of the middle told with the early, the late, and apart.
"""

import json
import sys

from jumpavg import BitCountingGroupList, classify


def together(unit, max_value, *groups):
    """The bits of the groups, each a list of lists of samples, the first of which begins it."""
    told = BitCountingGroupList(max_value=max_value, unit=unit)
    for first, *rest in groups:
        told.append_group_of_runs(list(first))
        for samples in rest:
            told.extend_runs_to_last_group(list(samples))
    return told.bits


for line in sys.stdin:
    series = json.loads(line)
    if "middle" in series:
        early, middle, late = series["early"], series["middle"], series["late"]
        ways = ([early, middle], [late]), ([early], [middle, late]), ([early], [middle], [late])
        largest = max(early + middle + late)
        print(json.dumps([together(series["unit"], largest, *way) for way in ways]))
        continue
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
