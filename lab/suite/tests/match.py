"""Says of each line, a list of tags and an expression in JSON, whether Robot Framework's expression matches the tags."""

import json
import sys

from robot.model.tags import TagPatterns

for line in sys.stdin:
    tags, expression = json.loads(line)
    print(json.dumps(TagPatterns([expression]).match(tags)))
