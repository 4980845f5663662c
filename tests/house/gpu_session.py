#!/usr/bin/env python3
"""gpu_session.py ROOT: scripts/gpu_session runs every test that a test program lists, typed suites, too, counts them, and
ends with 1 where one did not run. Programs that look like ours to it stand in for the GPU's; nothing runs on a device."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

# Lists as Google Test does, and runs what a filter names. FAKE: a test that ends the process, hangs, fails, or is not run.
TESTS = r'''#!/usr/bin/env python3
import fnmatch, os, sys, time
suites = {"Stage": "", "Segments/WarpLanes": "  # TypeParam = Of<0>", "Segments/BlockEnsembles": "  # TypeParam = Of<1>",
          "Regions/WarpLanes": "  # TypeParam = Of<0>", "Signals/WarpLanes": "  # TypeParam = Of<0>", "Tags2": ""}
names = ["One", "Two", "DISABLED_Three"]
kind, _, at = os.environ.get("FAKE", "").partition(" ")
if kind == "empty":
    sys.exit(1)
if "--gtest_list_tests" in sys.argv:
    print("Running main() from ./googletest/src/gtest_main.cc")
    for suite, comment in suites.items():
        print(suite + "." + comment, *("  " + n for n in names), sep="\n")
    sys.exit()
filters = [a.split("=", 1)[1].split("-")[0].split(":") for a in sys.argv if a.startswith("--gtest_filter=")][0]
failed = False
for suite in suites:
    for name in names[:2]:
        test = suite + "." + name
        if not any(fnmatch.fnmatchcase(test, f) for f in filters):
            continue
        if test == at and kind == "unknown":
            continue
        print("[ RUN      ]", test, flush=True)
        if test == at and kind == "dies":
            os._exit(134)
        if test == at and kind == "hangs":
            time.sleep(60)
        if test == at and kind == "fails":
            failed = True
            print("[  FAILED  ] " + test + ", where TypeParam = Of<0> (3 ms)")
        elif name == "Two":
            print("[  SKIPPED ] " + test + " (0 ms)")
        else:
            print("[       OK ] " + test + " (12 ms)")
print("[  PASSED  ] some tests.\n[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] Stage.Two")
sys.exit(failed)
'''
SANITIZER = '''#!/usr/bin/env bash
while [[ $1 == --* ]]; do shift; [[ $1 == --* ]] || shift; done
"$@"
'''
NOTHING = "#!/bin/sh\nexit 0\n"


def session(folder, fake, *parts):
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    environment = dict(os.environ, FAKE=fake, HIWAY_BIN=str(folder / "bin"), HIWAY_SUITE_SECONDS="5" if "hangs" not in fake else "1",
                       PATH=str(folder / "bin") + os.pathsep + os.environ["PATH"])
    done = subprocess.run([folder / "scripts/gpu_session", out, *parts], env=environment, text=True, timeout=50,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


EXPECTED = [  # (what the program does, parts, exit status, what is said, what is not)
    ("", ["tests"], 0, ["== Segments/WarpLanes\n", "== Tags2\n", "== 12 of 12 tests ran, in 6 of 6 suites; skipped: 6\n"], ["DISABLED", "not run"]),
    ("dies Segments/WarpLanes.One", ["tests"], 1, ["== 10 of 12 tests ran, in 5 of 6 suites",
                                                   "< Segments/WarpLanes.One\n", "< Segments/WarpLanes.Two\n"], []),
    ("hangs Regions/WarpLanes.Two", ["tests"], 1, ["rc 124\n", "== 11 of 12 tests ran, in 6 of 6 suites", "< Regions/WarpLanes.Two\n"], []),
    ("fails Signals/WarpLanes.One", ["tests"], 1, ["rc 1\n", "== 12 of 12 tests ran"], ["not run"]),
    ("unknown Tags2.Two", ["tests"], 1, ["== 11 of 12 tests ran", "< Tags2.Two\n"], []),
    ("empty", ["tests"], 1, ["hiway_gpu_tests lists no tests\n"], []),
    ("", ["sanitizer:memcheck"], 0, ["== compute-sanitizer memcheck Stage.*\n", "== compute-sanitizer memcheck Segments/BlockEnsembles.*\n",
                                     "OK ] Regions/WarpLanes.One", "OK ] Signals/WarpLanes.One"], ["racecheck"]),
    ("fails Regions/WarpLanes.One", ["sanitizer:memcheck"], 1, ["FAILED  ] Regions/WarpLanes.One"], []),
]


def main(root):
    problems = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for name, text in [("bin/hiway_gpu_tests", TESTS), ("bin/hiway_gpu_nth_tests", NOTHING), ("bin/hiway", NOTHING), ("bin/nvidia-smi", NOTHING),
                           ("bin/compute-sanitizer", SANITIZER), ("scripts/check_sass", NOTHING),
                           ("scripts/gpu_session", (pathlib.Path(root) / "scripts/gpu_session").read_text())]:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        for fake, parts, status, says, never in EXPECTED:
            code, text = session(folder, fake, *parts)
            wrong = [f"ended with {code}, not {status}"] if code != status else []
            wrong += [f"did not say {t!r}" for t in says if t not in text] + [f"said {t!r}" for t in never if t in text]
            if wrong:
                problems.append(f"{' '.join(parts)}, the program {fake or 'is sound'}: {'; '.join(wrong)}:\n{text}")
    print("\n".join(problems) or "gpu_session runs what is listed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
