#!/usr/bin/env python3
"""refuses.py FILE COMPILER [FLAGS...]: the compiler refuses FILE with the message that the file expects.

A case has one line `// expect: REGEX`. Compiled as it is, it must fail and say that in its first error; compiled with
-DREPAIRED it must pass: so it is refused for the planted reason and for no other. What follows that error, where a
compiler names the instantiations, is `// expect below: REGEX`.
"""
import re
import subprocess
import sys
import tempfile

case, command = sys.argv[1], sys.argv[2:]
expected = re.findall(r"^// expect: (.+)$", open(case).read(), re.M)
if len(expected) != 1:
    sys.exit(f"{case}: has {len(expected)} lines '// expect: REGEX', needs one")


below = re.findall(r"^// expect below: (.+)$", open(case).read(), re.M)


def compile(*more):
    with tempfile.TemporaryDirectory() as folder:
        output = [] if "-fsyntax-only" in command else ["-o", f"{folder}/out.o"]
        done = subprocess.run([*command, *more, *output, case], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


status, said = compile()
if status == 0:
    sys.exit(f"{case}: compiles, but must be refused with: {expected[0]}")
first = next((line for line in said.splitlines() if re.search(r"\berror: ", line)), "")
if not re.search(expected[0], first):
    sys.exit(f"{case}: is refused, but not first with: {expected[0]}\n{said}")
for more in below:
    if not re.search(more, said):
        sys.exit(f"{case}: is refused, but nothing says: {more}\n{said}")
status, said = compile("-DREPAIRED")
if status != 0:
    sys.exit(f"{case}: is refused even with -DREPAIRED:\n{said}")
print(f"refused with: {expected[0]}")
