#!/usr/bin/env python3
"""Checks what git's *.md files point at: `links.py ROOT`, or `links.py self-test`. Nothing is fetched.

[text](target)   the file is there, beside the document, and has a heading for #anchor (as GitHub makes them)
`a/b.cpp ...`    a first word with a slash and a known ending is a file: below the root, include/ or include/hiway/, or
                 beside the document; so are scripts/NAME and docs/adr/NUMBER; a/b/ is a folder. * and {a,b} as the
                 shell has them. What stands under build/ or below a name in capitals (PREFIX/lib) is made elsewhere.
Fenced and indented code is not looked at.
"""
import itertools
import pathlib
import re

import planted

FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.S | re.M)
INDENTED = re.compile(r"(?<=\n)\n(?:(?: {4}|\t)[^\n]*\n|\n)+")
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|^\[[^\]]+\]:\s*(\S+)", re.M)
CODE = re.compile(r"`([^`\n]+)`")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.M)
ENDINGS = "md|hpp|cpp|cuh|cu|h|py|sh|txt|json|cmake|in|pml|svg|png|pgm|xml|gz|bez|pc|cff|yml"
FILE = re.compile(rf"[\w.{{}},*-]+(/[\w.{{}},*-]+)+\.({ENDINGS})|scripts/\w+|docs/adr/\d{{4}}")
FOLDER = re.compile(r"[\w.{},*-]+(/[\w.{},*-]+)*/")
ELSEWHERE = re.compile(r"build/|[A-Z][A-Z_]*/")
ROOMS = ("", "include", "include/hiway")


def blank(match):
    return re.sub(r"[^\n]", "", match[0])


def anchors(text):
    seen = {}
    for match in HEADING.finditer(FENCE.sub(blank, text)):
        name = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", match[1]).replace("`", "").lower()
        name = re.sub(r"[^\w\- ]", "", name).replace(" ", "-")
        seen[name] = seen.get(name, -1) + 1
        yield f"{name}-{seen[name]}" if seen[name] else name


def spread(pattern):
    braces = re.split(r"\{([^{}]*)\}", pattern)
    return map("".join, itertools.product(*(part.split(",") if i % 2 else [part] for i, part in enumerate(braces))))


def is_there(root, document, pattern):
    folders = [root / room for room in ROOMS] + [document.parent]
    return all(any(next(folder.glob(one.rstrip("/") + ("-*.md" if one[-4:].isdigit() else "")), None) for folder in folders) for one in spread(pattern))


def check(root):
    paths = planted.tracked(root)
    for path in paths:
        if not path.endswith(".md"):
            continue
        document = root / path
        text = INDENTED.sub(blank, FENCE.sub(blank, document.read_text()))
        at = lambda match: f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
        for match in LINK.finditer(CODE.sub(lambda m: " " * len(m[0]), text)):
            target = match[1] or match[2]
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            file = pathlib.Path((document.parent / name).resolve()) if name else document
            if not file.exists() or not file.is_relative_to(root):
                yield f"{at(match)}: no file {target}"
            elif anchor and (file.suffix != ".md" or anchor not in anchors(file.read_text())):
                yield f"{at(match)}: no heading {target}"
        for match in CODE.finditer(text):
            name = (match[1].split() or [""])[0]
            if (FILE.fullmatch(name) or FOLDER.fullmatch(name)) and not ELSEWHERE.match(name):
                if not is_there(root, document, name):
                    yield f"{at(match)}: no file {name}"


THERE = {"docs/a.md": "# One thing\n## A `b`, and (c)\n## One thing\n", "lib/x.cpp": "", "include/hiway/y.hpp": ""}
PLANTED = [
    ({**THERE, "b.md": "[a](docs/a.md) [b](docs/a.md#one-thing) [c](docs/a.md#a-b-and-c) [d](docs/a.md#one-thing-1)\n"}, ""),
    ({**THERE, "b.md": "\n[a](docs/b.md)\n"}, "b.md:2: no file docs/b.md"),
    ({**THERE, "b.md": "[a](../elsewhere.md)\n"}, "no file ../elsewhere.md"),
    ({**THERE, "b.md": "[a](docs/a.md#two-things)\n"}, "no heading docs/a.md#two-things"),
    ({**THERE, "b.md": "# B\n[a](#c) [b](#b)\n"}, "no heading #c"),
    ({**THERE, "b.md": "[a](https://example.org/nowhere)\n"}, ""),
    ({**THERE, "b.md": "[a][1]\n\n[1]: docs/none.md\n"}, "no file docs/none.md"),
    ({**THERE, "b.md": "`lib/x.cpp`, `hiway/y.hpp`, `lib/*.cpp`, `lib/{x}.cpp`, `lib/`, `lib/x.cpp -a`, `build/z.json`, `PREFIX/lib/z.hpp`\n"}, ""),
    ({**THERE, "docs/b.md": "`lib/z.cpp`\n"}, "docs/b.md:1: no file lib/z.cpp"),
    ({**THERE, "b.md": "`lib/{x,z}.cpp`\n"}, "no file lib/{x,z}.cpp"),
    ({**THERE, "b.md": "`scripts/none --all`\n"}, "no file scripts/none"),
    ({**THERE, "docs/adr/0001-a.md": "", "b.md": "`docs/adr/0001`, `docs/adr/0002`\n"}, "no file docs/adr/0002"),
    ({**THERE, "docs/adr/0001-a.md": "", "b.md": "`docs/adr/0001`\n"}, ""),
    ({**THERE, "b.md": "`none/`\n"}, "no file none/"),
    ({**THERE, "b.md": "```\n[a](none.md) `lib/z.cpp`\n```\n\n    `lib/z.cpp`\n\ntext\n"}, ""),
]

planted.main(__doc__, check, PLANTED)
