#!/usr/bin/env python3
"""expect.py [--exit N] [--says REGEX] [--never-says REGEX] -- COMMAND...: runs it; 0 when it did as expected."""
import argparse
import re
import subprocess
import sys

arguments = argparse.ArgumentParser(description=__doc__)
arguments.add_argument("--exit", type=int, default=0)
arguments.add_argument("--says")
arguments.add_argument("--never-says")
split = sys.argv.index("--")
asked = arguments.parse_args(sys.argv[1:split])
done = subprocess.run(sys.argv[split + 1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
print(done.stdout, end="")

problems = []
if done.returncode != asked.exit:
    problems.append(f"ended with {done.returncode}, expected {asked.exit}")
if asked.says and not re.search(asked.says, done.stdout):
    problems.append(f"did not say {asked.says!r}")
if asked.never_says and re.search(asked.never_says, done.stdout):
    problems.append(f"said {asked.never_says!r}")
for problem in problems:
    print(f"expect.py: {' '.join(sys.argv[split + 1:])} {problem}")
sys.exit(1 if problems else 0)
