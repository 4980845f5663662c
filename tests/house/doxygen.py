#!/usr/bin/env python3
"""Makes the public headers' pages without a warning: `doxygen.py ROOT OUT`, or `doxygen.py self-test`; 77 without doxygen.

Doxygen warns of what it cannot resolve or parse in a comment, and of parameters that a function does not have.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

DOXYFILE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "Doxyfile"

PLANTED = [
    ("/// Adds.\nint add(int a, int b);\n", ""),
    ("/// Adds. \\param c nothing\nint add(int a, int b);\n", "argument 'c'"),
    ("/// Adds, see \\ref nowhere.\nint add(int a, int b);\n", "nowhere"),
    ("/// Adds \\nothing.\nint add(int a, int b);\n", "unknown command"),
    ("/// Adds.\nHIWAY_DEVICE int add(int a, int b);\n", ""),
]


def run(root, out):
    out.mkdir(parents=True, exist_ok=True)
    asked = DOXYFILE.read_text() + f"OUTPUT_DIRECTORY = {out}\n"
    done = subprocess.run(["doxygen", "-"], cwd=root, input=asked, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def self_test():
    for text, expected in PLANTED:
        with tempfile.TemporaryDirectory() as folder:
            header = pathlib.Path(folder) / "include" / "hiway" / "add.hpp"
            header.parent.mkdir(parents=True)
            header.write_text(text)
            status, said = run(folder, pathlib.Path(folder) / "out")
            if (status == 0 or expected not in said) if expected else status != 0:
                yield f"{text!r}: expected {expected!r}, got {status}, {said!r}"


def main():
    if sys.argv[1:] != ["self-test"] and len(sys.argv) != 3:
        sys.exit(__doc__)
    if not shutil.which("doxygen"):
        print("skipped: no doxygen here")
        sys.exit(77)
    if sys.argv[1] == "self-test":
        problems = list(self_test())
    else:
        status, said = run(sys.argv[1], pathlib.Path(sys.argv[2]).resolve())
        problems = [said or f"doxygen ended with {status}"] if status else []
    print("\n".join(problems) or "clean")
    sys.exit(1 if problems else 0)


main()
