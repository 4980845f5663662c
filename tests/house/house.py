#!/usr/bin/env python3
"""Checks that the house's rooms lie where DESIGN says: `house.py floors|rooms ROOT`, or `house.py self-test`.

floors  a file includes no floor above its own; include/hiway includes neither lib/ nor monitors/ nor stencil/;
        apps/ includes public headers and apps/ only, apps/cli bench/ too; bench/ public headers, bench/ and
        apps/cli; examples/ public headers only. A file without a floor is an error: place it below.
rooms   only the machine and launch rooms and config.hpp ask which compiler or which pass this is;
        nothing is volatile.
"""
import pathlib
import re
import sys
import tempfile

# First match wins. lib/NAME.cpp lies where include/hiway/NAME.hpp lies.
FLOORS = [
    (0, r"include/hiway/(config|cpus|version|deadline|durations|error|failed_tasks|fault|item|latency|log|output_file|ranges|report|trace)\.hpp|lib/(dot_text|environment|named_failure|prometheus|report_signal|sizes|text)\.[ch]pp"),
    (0, r"include/hiway/machine/.*"),
    (1, r"include/hiway/(cluster|link|ring|relay|memory|backend|batch_stream)\.hpp"),
    (1, r"include/hiway/(grouping|launch|ring)/.*"),
    (2, r"lib/batch/.*|lib/nodes/(node_line\.[ch]pp|line/.*|ucx/(network|registered)[^/]*)"),
    (1, r"lib/(backend|nodes|simt)/.*|lib/(affinity|arena|asymmetric_fences|bell|cpu_contention|futex|machine|word_copies)\.[ch]pp"),
    (2, r"include/hiway/(batch|branches|tunnel|inlet|outlet|stage|stage_by_ticket|stage_form|stage_description|group|persistent|termination)\.hpp"),
    (2, r"include/hiway/(batch|inlet|outlet|scope|segment|stencil|plan|termination)/.*"),
    (3, r"(monitors|stencil|lib/(plan|scope|segment))/.*|lib/movement/.*|lib/(pipeline/(flow_plan|end_check|homes|placed_tunnel|residency)|graph|json|movement_table|node_reports|run_trace|snapshot|stall_report|waits)\.[ch]pp"),
    (4, r"include/hiway/(dlpack|hiway|paper|pipeline|service)\.hpp|include/hiway/service/.*|lib/(paper|pipeline)_[^/]*|lib/(pipeline|service)/.*"),
    (5, r"(apps|bench|examples)/.*"),
]
ROOMS = ["include", "lib", "monitors", "stencil", "apps", "bench", "examples"]
# The program knows its benches; no application does.
MAY_INCLUDE_BENCH = ("apps/cli/", "bench/")
SOURCES = {".hpp", ".cuh", ".cpp", ".cu", ".h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<(hiway/[^>]+)>)', re.M)
ASKS_THE_COMPILER = re.compile(r"__CUDA_ARCH__|__CUDACC__|NV_IF_TARGET")
MAY_ASK = re.compile(r"include/hiway/(config\.hpp|machine/.*|launch/.*)")
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
# An asm statement with effects is no volatile object.
VOLATILE = re.compile(r"(?<!asm )(?<!asm__ )\bvolatile\b")


def files(root, rooms):
    for room in rooms:
        for path in sorted((root / room).rglob("*")):
            if path.suffix in SOURCES:
                yield path.relative_to(root).as_posix()


def floor(path):
    in_lib = re.fullmatch(r"lib/([^/]+)\.(cpp|cu|hpp)", path)
    for number, pattern in FLOORS:
        if re.fullmatch(pattern, path):
            return number
        if in_lib and re.fullmatch(pattern, f"include/hiway/{in_lib[1]}.hpp"):
            return number
    return None


def resolve(root, path, name):
    for folder in [(root / path).parent, root / "include", root, root / "apps"]:
        target = (folder / name).resolve()
        if target.is_file() and target.is_relative_to(root):
            return target.relative_to(root).as_posix()
    return None


def check_floors(root):
    for path in files(root, ROOMS):
        own = floor(path)
        if own is None:
            yield f"{path}: has no floor; place it in FLOORS of tests/house/house.py"
            continue
        text = (root / path).read_text()
        for match in INCLUDE.finditer(text):
            name = match[1] or match[2]
            at = f"{path}:{text.count(chr(10), 0, match.start(match.lastindex)) + 1}"
            target = resolve(root, path, name)
            if target is None:
                yield f"{at}: includes {name}, which is no file of the house"
                continue
            other = floor(target)
            if other is not None and other > own:
                yield f"{at}: floor {own} includes {target} of floor {other}"
            if path.startswith("include/") and not target.startswith("include/"):
                yield f"{at}: a public header includes {target}"
            known = ("include/", "apps/", "bench/") if path.startswith(MAY_INCLUDE_BENCH) else ("include/", "apps/")
            if path.startswith("apps/") and not target.startswith(known):
                yield f"{at}: an application includes {target}, which is not public"
            if path.startswith("bench/") and not target.startswith(("include/", "apps/cli/", "bench/")):
                yield f"{at}: a bench includes {target}, which is not public"
            if path.startswith("examples/") and not target.startswith("include/"):
                yield f"{at}: an example includes {target}, which is not public"


def check_rooms(root):
    for path in files(root, [room for room in ROOMS if room != "apps"]):
        text = (root / path).read_text()
        if not MAY_ASK.fullmatch(path):
            for match in ASKS_THE_COMPILER.finditer(text):
                yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}: mentions {match[0]}"
        # Keeps the lines' numbers.
        code = COMMENT_OR_TEXT.sub(lambda m: "\n" * m[0].count("\n"), text)
        for match in VOLATILE.finditer(code):
            yield f"{path}:{code.count(chr(10), 0, match.start()) + 1}: volatile synchronizes nothing"


CHECKS = {"floors": check_floors, "rooms": check_rooms}

# The bugs that the checks exist for: (check, file, text, what must be said; "" when nothing may be said).
PLANTED = [
    ("floors", "include/hiway/ring.hpp", '#include "hiway/config.hpp"\n', ""),
    ("floors", "include/hiway/ring.hpp", '// one\n#include "hiway/pipeline.hpp"\n', "ring.hpp:2: floor 1 includes"),
    ("floors", "include/hiway/ring.hpp", "#include <hiway/pipeline.hpp>\n", "floor 1 includes"),
    ("floors", "include/hiway/ring.hpp", '  #  include "pipeline.hpp"\n', "floor 1 includes"),
    ("floors", "include/hiway/hiway.hpp", '#include "monitors/duty.hpp"\n', "a public header includes monitors/duty.hpp"),
    ("floors", "include/hiway/hiway.hpp", '#include "../../monitors/duty.hpp"\n', "a public header includes"),
    ("floors", "include/hiway/hiway.hpp", '#include "hiway/nowhere.hpp"\n', "which is no file of the house"),
    ("floors", "include/hiway/novelty.hpp", "", "novelty.hpp: has no floor"),
    ("floors", "lib/ring.cpp", '#include "monitors/duty.hpp"\n', "lib/ring.cpp:1: floor 1 includes monitors/duty.hpp of floor 3"),
    ("floors", "lib/pipeline.cpp", '#include "monitors/duty.hpp"\n', ""),
    ("floors", "monitors/duty.cpp", '#include "hiway/pipeline.hpp"\n', "floor 3 includes"),
    ("floors", "apps/reyes/hiway.cpp", '#include "monitors/duty.hpp"\n', "which is not public"),
    ("floors", "apps/reyes/hiway.cpp", '#include <hiway/hiway.hpp>\n#include <vector>\n', ""),
    ("floors", "examples/figure9/hiway.cpp", '#include "monitors/duty.hpp"\n', "an example includes monitors/duty.hpp"),
    ("floors", "examples/figure9/hiway.cpp", '#include "cli/app.hpp"\n', "an example includes apps/cli/app.hpp"),
    ("floors", "examples/figure9/hiway.cpp", '#include <hiway/hiway.hpp>\n', ""),
    ("floors", "apps/reyes/hiway.cpp", '#include "examples/own.hpp"\n', "an application includes examples/own.hpp"),
    ("floors", "bench/ring.cpp", '#include "cli/app.hpp"\n#include <hiway/hiway.hpp>\n', ""),
    ("floors", "bench/ring.cpp", '#include "monitors/duty.hpp"\n', "a bench includes monitors/duty.hpp"),
    ("floors", "bench/ring.cpp", '#include "examples/own.hpp"\n', "a bench includes examples/own.hpp"),
    ("floors", "apps/cli/program.cpp", '#include "bench/bench.hpp"\n', ""),
    ("floors", "apps/reyes/hiway.cpp", '#include "bench/bench.hpp"\n', "an application includes bench/bench.hpp"),
    ("rooms", "examples/figure9/hiway.cpp", "int volatile flag;\n", "volatile"),
    ("rooms", "include/hiway/machine/machine.hpp", "#ifdef __CUDA_ARCH__\n#endif\n", ""),
    ("rooms", "include/hiway/ring.hpp", "\n#ifdef __CUDA_ARCH__\n#endif\n", "ring.hpp:2: mentions __CUDA_ARCH__"),
    ("rooms", "monitors/duty.hpp", "#if defined(__CUDACC__)\n#endif\n", "mentions __CUDACC__"),
    ("rooms", "lib/ring.cpp", "int volatile flag;\n", "lib/ring.cpp:1: volatile"),
    ("rooms", "lib/ring.cpp", '// volatile\n/* volatile */ char const* s = "volatile";\n', ""),
    ("rooms", "include/hiway/machine/cuda_machine.cuh", 'asm volatile("nanosleep.u32 20;");\n', ""),
]


def self_test():
    failures = []
    for check, name, text, expected in PLANTED:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            for path in ["include/hiway/config.hpp", "include/hiway/hiway.hpp", "include/hiway/pipeline.hpp", "monitors/duty.hpp",
                         "apps/cli/app.hpp", "bench/bench.hpp", "examples/own.hpp", name]:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text if path == name else "")
            said = "\n".join(CHECKS[check](root))
            if (expected not in said) if expected else said:
                failures.append(f"{check}, {name} with {text!r}: expected {expected!r}, got {said!r}")
    return failures


def main():
    if sys.argv[1:] == ["self-test"]:
        problems = self_test()
    elif len(sys.argv) == 3 and sys.argv[1] in CHECKS:
        problems = list(CHECKS[sys.argv[1]](pathlib.Path(sys.argv[2]).resolve()))
    else:
        sys.exit(__doc__)
    print("\n".join(problems) or "clean")
    sys.exit(1 if problems else 0)


main()
