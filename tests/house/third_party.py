#!/usr/bin/env python3
"""Checks THIRD_PARTY.md: `third_party.py ROOT`, or `third_party.py self-test`.

Each file in a folder data/ is named there in backticks, by its path, and in PROVENANCE.md beside it; so is each package
that scripts/setup installs. What is named as data is there.
"""
import pathlib
import re

import planted

DOCUMENT = "THIRD_PARTY.md"
SETUP = "scripts/setup"
PACKAGES = re.compile(r"packages\+?=\(([^)]*)\)")


def text_of(path):
    return path.read_text() if path.is_file() else ""


def check(root):
    named = set(re.findall(r"`([^`\n]+)`", text_of(root / DOCUMENT)))
    data = [path for path in planted.tracked(root) if re.search(r"(^|/)data/", path)]
    for path in data:
        name = pathlib.PurePath(path).name
        if name == "PROVENANCE.md":
            continue
        if path not in named:
            yield f"{DOCUMENT} does not name {path}"
        if name not in text_of((root / path).with_name("PROVENANCE.md")):
            yield f"no PROVENANCE.md beside {path} names it"
    for name in sorted(named):
        if re.search(r"(^|/)data/.", name) and name not in data:
            yield f"{DOCUMENT}: no file {name}"
    for match in PACKAGES.finditer(text_of(root / SETUP)):
        for package in re.sub(r"#[^\n]*", "", match[1]).split():
            if package not in named:
                yield f"{DOCUMENT} does not name the package {package}"


NAMED = {DOCUMENT: "| `a/data/x.gz` | `cmake` |\n", "a/data/x.gz": "", "a/data/PROVENANCE.md": "| x.gz | made here |\n",
         SETUP: "packages=(cmake)\n"}
PLANTED = [
    (NAMED, ""),
    ({**NAMED, "a/data/y.gz": ""}, "THIRD_PARTY.md does not name a/data/y.gz"),
    ({**NAMED, "a/data/PROVENANCE.md": "| y.gz |\n"}, "no PROVENANCE.md beside a/data/x.gz names it"),
    ({**NAMED, DOCUMENT: "`a/data/x.gz`, `a/data/z.gz`, `cmake`\n"}, "THIRD_PARTY.md: no file a/data/z.gz"),
    ({**NAMED, SETUP: "packages=(cmake  # it builds\n  spin)\n"}, "does not name the package spin"),
    ({**NAMED, SETUP: "packages=(cmake)\npackages+=(clang-19) ;;\n"}, "does not name the package clang-19"),
]

planted.main(__doc__, check, PLANTED)
