"""What the checks of documents share: `SCRIPT.py ROOT` checks, `SCRIPT.py self-test` plants the bugs that it exists for."""
import pathlib
import subprocess
import sys
import tempfile


def tracked(root):
    """The paths of git's files below root; without git all files, but those of builds and of hidden folders."""
    done = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, text=True)
    if done.returncode == 0 and (root / ".git").exists():
        return sorted(path for path in done.stdout.split("\0") if path and (root / path).is_file())
    paths = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in paths if path.parts[0] not in ("build", "shared") and path.parts[0][0] != ".")


def self_test(check, planted):
    """planted: (files {path: text}, what must be said; "" when nothing may be said)."""
    for files, expected in planted:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            for path, text in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            said = "\n".join(check(root))
        if (expected not in said) if expected else said:
            yield f"{files}: expected {expected!r}, got {said!r}"


def main(document, check, planted):
    if len(sys.argv) != 2:
        sys.exit(document)
    asked = sys.argv[1]
    problems = list(self_test(check, planted) if asked == "self-test" else check(pathlib.Path(asked).resolve()))
    print("\n".join(problems) or "clean")
    sys.exit(1 if problems else 0)
