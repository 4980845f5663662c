#!/usr/bin/env python3
"""Checks docs/environment.md: `environment.py ROOT`, or `environment.py self-test`.

What is read: HIWAY_... in getenv, from_environment, os.environ, and as a shell's $HIWAY_...; what is cached in CMake by
option, set ... CACHE and find_program. Each has a row (its name, in backticks, opens the row), and each row's name occurs
in a file that is no document.
"""
import re

import planted

DOCUMENT = "docs/environment.md"
ROOMS = ("lib/", "include/", "monitors/", "stencil/", "apps/", "bench/", "examples/", "scripts/", "tests/", ".ci/", "cmake/", "CMake")
OWN = "tests/house/environment.py"
IS_CMAKE = re.compile(r"(^|/)CMakeLists\.txt$|\.cmake(\.in)?$")
READ = re.compile(r'(?:getenv|from_environment)\(\s*"(HIWAY_\w+)"|environ(?:\.get\(|\[)\s*"(HIWAY_\w+)"|\$\{?(HIWAY_\w+)')
CACHED = re.compile(r"(?:option|find_program)\((HIWAY_\w+)|set\((HIWAY_\w+)[^()]* CACHE ")
ROW = re.compile(r"^\| `(HIWAY_\w+)", re.M)


def check(root):
    file = root / DOCUMENT
    rows = set(ROW.findall(file.read_text())) if file.is_file() else set()
    named = set()
    for path in planted.tracked(root):
        if not path.startswith(ROOMS) or path == OWN:
            continue
        text = (root / path).read_text(errors="replace")
        named.update(re.findall(r"HIWAY_\w+", text))
        for match in (CACHED if IS_CMAKE.search(path) else READ).finditer(text):
            if match[match.lastindex] not in rows:
                yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {DOCUMENT} has no row for {match[match.lastindex]}"
    for name in sorted(rows - named):
        yield f"{DOCUMENT}: {name} is read nowhere"


TABLE = {DOCUMENT: "| name | what |\n|---|---|\n| `HIWAY_SEED` | where random begins |\n"}
KNOWN = {**TABLE, "tests/a.cpp": 'std::getenv("HIWAY_SEED");\n'}
PLANTED = [
    (KNOWN, ""),
    (TABLE, "HIWAY_SEED is read nowhere"),
    ({**KNOWN, "lib/a.cpp": '\nstd::getenv("HIWAY_NEW");\n'}, "lib/a.cpp:2: docs/environment.md has no row for HIWAY_NEW"),
    ({**KNOWN, "tests/b.cpp": 'from_environment("HIWAY_NEW", 1);\n'}, "no row for HIWAY_NEW"),
    ({**KNOWN, "scripts/a": 'bin=${HIWAY_NEW:-build}\n'}, "no row for HIWAY_NEW"),
    ({**KNOWN, "scripts/a": 'os.environ.get("HIWAY_NEW")\n'}, "no row for HIWAY_NEW"),
    ({**KNOWN, "CMakeLists.txt": 'option(HIWAY_NEW "New" ON)\n'}, "no row for HIWAY_NEW"),
    ({**KNOWN, "CMakeLists.txt": 'set(HIWAY_NEW none CACHE STRING "new")\n'}, "no row for HIWAY_NEW"),
    ({**KNOWN, "CMakeLists.txt": "set(HIWAY_NEW ON)\nif(${HIWAY_NEW})\n"}, ""),
    ({**KNOWN, "lib/a.cpp": "#define HIWAY_NEW\n"}, ""),
]

planted.main(__doc__, check, PLANTED)
