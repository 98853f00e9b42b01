"""Whisper files behind a pipe, because Debian has carbon's files but no server that answers queries from them.

Requests on standard input, one answer each, ended by a line "OK":
  create NAME                     makes the file of a series with the archive's tiers
  update NAME NOW FIRST EVERY v…  stores values that lie EVERY seconds apart, as seen at the time NOW
  fetch NAME START END NOW        returns the values as JSON, null for unknown
"""
import json
import sys

import whisper

TIERS = [(1, 7200), (10, 8640), (60, 11520), (300, 11520), (3600, 17520)]

for line in sys.stdin:
    word, name, *rest = line.split()
    path = f"{sys.argv[1]}/{name}.wsp"
    if word == "create":
        whisper.create(path, TIERS, xFilesFactor=0, aggregationMethod="average")
    elif word == "update":
        now, first, every = map(int, rest[:3])
        points = [(first + n * every, float(value)) for n, value in enumerate(rest[3:])]
        whisper.update_many(path, points, now=now)
    else:
        start, end, now = map(int, rest)
        # Whisper returns the values from the bucket after its start to the one after its end.
        _, values = whisper.fetch(path, start - 1, end - 1, now=now)
        sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.write("OK\n")
    sys.stdout.flush()
