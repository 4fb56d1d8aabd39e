"""Prints IDs: python3 example.py STORE N"""

import sys

import snowfence

with snowfence.open(sys.argv[1]) as ids:
    for _ in range(int(sys.argv[2])):
        print(next(ids))
