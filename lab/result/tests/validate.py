"""Says of each document whether it is valid against a schema, which itself must be a valid one of draft 2020-12."""

import json
import sys

from jsonschema import Draft202012Validator

asked = json.load(sys.stdin)
Draft202012Validator.check_schema(asked["schema"])
validator = Draft202012Validator(asked["schema"])
print(json.dumps([[error.message[:200] for error in validator.iter_errors(each)] for each in asked["documents"]]))
