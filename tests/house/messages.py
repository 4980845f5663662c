#!/usr/bin/env python3
"""Checks that docs/troubleshooting.md has all that the library can say: `messages.py ROOT`, or `messages.py self-test`.

A message is often put together from pieces, far from its throw. So what is looked for is simple: each string literal of
the library, neighbours joined, cut at line breaks and at printf's %s, of which at least 12 characters are left that hold
two words, must stand in the document, whatever uses it. A name or a number in a message falls between two literals: the
document has a placeholder there. Shorter pieces are not looked for. Files that only write reports say nothing (REPORTS).
"""
import re

import planted

DOCUMENT = "docs/troubleshooting.md"
ROOMS = ("lib/", "include/", "monitors/", "stencil/")
REPORTS = ("lib/prometheus.cpp", "lib/report.cpp", "lib/run_trace.cpp")
SOURCES = (".hpp", ".cuh", ".cpp", ".cu")
# What nobody reads as a message: the compiler's, and the parts of a graph in dot.
SILENT = ("GCC diagnostic", "digraph ", "(open inlet of", "(open outlet of", ", between nodes", r"\\nin each of")

TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|\#\s*include[^\n]*|(?<!\w)'(?:\\.|[^'\\\n])'|"(?:\\.|[^"\\\n])*\"""", re.S)
LITERALS = re.compile(r'"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*')
CUT = re.compile(r"(?<!\\)\\n|%(?:s|u|d|llu|lld|zu)")


def pieces(source):
    code = TOKEN.sub(lambda m: m[0] if m[0].startswith('"') else "\n" * m[0].count("\n"), source)
    for match in LITERALS.finditer(code):
        joined = re.sub(r'(?<!\\)"\s*"', "", match[0])[1:-1]
        for piece in CUT.split(joined):
            piece = piece.replace('\\"', '"').strip()
            if len(piece) >= 12 and re.search("[A-Za-z] [A-Za-z]", piece) and not piece.startswith(SILENT):
                yield code.count("\n", 0, match.start()) + 1, piece


def check(root):
    file = root / DOCUMENT
    said = " ".join(file.read_text().split()) if file.is_file() else ""
    for path in planted.tracked(root):
        if path.startswith(ROOMS) and path.endswith(SOURCES) and path not in REPORTS:
            for line, piece in pieces((root / path).read_text()):
                if piece not in said:
                    yield f"{path}:{line}: {DOCUMENT} has nothing on: {piece}"


DOCUMENTED = {DOCUMENT: "| `tunnel 'NAME': a capacity of N is too\nlarge` | less |\n"}
PLANTED = [
    ({**DOCUMENTED, "lib/a.cpp": 'throw ConfigError(who + ": a capacity of " + n + " is too large");\n'}, ""),
    ({**DOCUMENTED, "lib/a.cpp": '\nthrow ConfigError("a capacity of nothing");\n'},
     "lib/a.cpp:2: docs/troubleshooting.md has nothing on: a capacity of nothing"),
    ({**DOCUMENTED, "lib/a.cpp": 'found.push_back(who + " has no writer");\n'}, "has no writer"),
    ({**DOCUMENTED, "include/hiway/a.hpp": 'static_assert(ok, "hiway: T is too large");\n'}, "hiway: T is too large"),
    ({**DOCUMENTED, "lib/a.cpp": 'throw Error("a capacity "\n            "of nothing");\n'}, "a capacity of nothing"),
    ({**DOCUMENTED, "monitors/a.cpp": 'std::fprintf(stderr, "%s: is not there\\n", name);\n'}, ": is not there"),
    ({**DOCUMENTED, "lib/a.cpp": "char c = '\"'; throw Error(\"the end is near\");\n"}, "the end is near"),
    ({**DOCUMENTED, "lib/a.cpp": '// "a comment, nothing said"\n#include "a b c d e f g h i.hpp"\n'}, ""),
    ({**DOCUMENTED, "apps/a.cpp": 'throw Error("a program may say what it likes");\n'}, ""),
    ({"lib/a.cpp": 'throw Error("without a document");\n'}, "without a document"),
]

planted.main(__doc__, check, PLANTED)
