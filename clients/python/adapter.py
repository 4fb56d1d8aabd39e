"""Lets lab/conform play with this package: for each line "next" on stdin an ID, and an end at "close"."""

import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import snowfence  # noqa: E402

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}


def seconds(text):
    return sum(float(n) * UNITS[unit] for n, unit in re.findall(r"([\d.]+)(ms|s|m)", text)) or None


ids = snowfence.Generator(os.environ["SNOWFENCE_SERVER"], os.environ.get("SNOWFENCE_NAMESPACE", "default"),
                          ttl=seconds(os.environ.get("SNOWFENCE_TTL", "")), max_wait=0.2)
for line in sys.stdin:
    if line.strip() == "close":
        break
    try:
        print(next(ids), flush=True)
    except snowfence.Error as e:
        print("error", str(e).replace("\n", " "), flush=True)
ids.close()
print("closed", flush=True)
