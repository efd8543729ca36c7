"""Answers questions to a Parquet file: JSON with its path and SQL in, JSON with rows out."""
import json
import sys

import duckdb

asked = json.load(sys.stdin)
connection = duckdb.connect()
connection.execute("SET TimeZone = 'UTC'")
connection.execute(f"CREATE VIEW tests AS SELECT * FROM read_parquet('{asked['path']}')")
answers = [connection.execute(query).fetchall() for query in asked["queries"]]
json.dump(answers, sys.stdout, default=str)
