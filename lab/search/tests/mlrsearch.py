"""FD.io's MLRsearch, asked over standard input and output, a line of JSON each.

A line in is a search. The answers are ["trial", duration, load], to which the device's result comes as a line, and at
last ["found", ...] or ["error", text]. Floats are strings both ways, so that JSON rounds none.
"""

import json
import sys

from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal


def say(*words):
    print(json.dumps(words), flush=True)


def heard():
    return json.loads(sys.stdin.readline())


class Device(AbstractMeasurer):
    def measure(self, intended_duration, intended_load):
        say("trial", repr(intended_duration), repr(intended_load))
        intended, sent, received, effective = heard()
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            intended_count=intended,
            offered_count=sent,
            loss_count=sent - received,
            duration_with_overheads=float(effective),
        )


def goal(fields):
    return SearchGoal(**{name: float(value) if isinstance(value, str) else value for name, value in fields.items()})


def number(load):
    return None if load is None else repr(float(load))


for line in sys.stdin:
    search = json.loads(line)
    goals = [goal(fields) for fields in search["goals"]]
    config = Config(
        goals=goals,
        min_load=float(search["min_load"]),
        max_load=float(search["max_load"]),
        # Of a clock that has nothing to do with the simulated trials.
        search_duration_max=1e9,
        warmup_duration=float(search["warm_up"]),
    )
    try:
        results = MultipleLossRatioSearch(config=config).search(measurer=Device(), debug=lambda _: None)
    except RuntimeError as error:
        say("error", str(error))
        continue
    found = []
    for each in (results[goal] for goal in goals):
        try:
            throughput = each.conditional_throughput
        except RuntimeError:
            # The library has no loads of zero.
            throughput = 0.0
        found.append([number(each.relevant_lower_bound), number(each.relevant_upper_bound), number(throughput)])
    say("found", *found)
