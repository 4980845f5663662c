"""report_browser.py PROGRAM [--keep FOLDER]: the page of `hiway report` in headless Chromium: no error on the console,
the sentences and the tracks are there, the script does what it should. Ends with 77 where Chromium is not installed."""
import argparse
import html.parser
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

# Points at the GPU stage's track and at a tunnel's plot, then zooms in at the middle; leaves what it saw in attributes.
GESTURES = """<script>
const seen = document.body.dataset, box = document.querySelector('svg.plot').getBoundingClientRect();
const point = (what, kind, more) => document.querySelector(what).dispatchEvent(new kind(more.type,
  {bubbles: true, cancelable: true, clientX: box.left + box.width / 2, clientY: box.top + 5, ...more}));
point('.track.gpu path.active', PointerEvent, {type: 'pointermove'});
seen.track = document.getElementById('tip').textContent;
point('.row.tunnel path.items', PointerEvent, {type: 'pointermove'});
seen.tunnel = document.getElementById('tip').textContent;
point('.track.gpu path.active', WheelEvent, {type: 'wheel', ctrlKey: true, deltaY: -100});
seen.view = [...new Set([...document.querySelectorAll('svg.plot')].map((p) => p.getAttribute('viewBox')))].join();
</script>
</body>"""
ODD_NAME = 'count <b>&"'


def sample_trace(seconds=0.24, seed=1):
    """feed -> coarse (GPU) -> fine (3 threads, slow) -> count; a tunnel from coarse to itself spills."""
    rng = random.Random(seed)
    run = seconds * 1e6
    end_us = 0.02 * run
    events, waits = [], {}

    def slice_of(pid, tid, cat, name, ts, dur, **args):
        events.append({"ph": "X", "pid": pid, "tid": tid, "cat": cat, "name": name, "ts": round(ts, 3),
                       "dur": round(dur, 3), "args": args})

    def name_of(pid, tid, name):
        events.append({"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": name}})

    def moment(cat, name, ts, text):
        events.append({"ph": "i", "pid": 5, "tid": 1, "s": "g", "cat": cat, "name": name, "ts": ts,
                       "args": {"text": text}})

    def thread(tid, stage, number, life, parts):
        """parts(): (what, tunnel, us) one after another; what: task, get, put."""
        name_of(1, tid, f"stage '{stage}', thread {number}")
        slice_of(1, tid, "stage", stage, 0, life)
        now, first = 3.0, 0
        while now < life - 1:
            what, tunnel, us = parts(now)
            us = min(us, life - now)
            if what == "task":
                slice_of(1, tid, "task", f"task of '{tunnel}'", now, us, tunnel=tunnel, first=first, items=1)
                first += 1
            elif what != "work":
                name = "waits for items of" if what == "get" else "waits for room in"
                slice_of(1, tid, what, f"{name} '{tunnel}'", now, us, tunnel=tunnel)
                waits[stage, what, tunnel] = waits.get((stage, what, tunnel), 0) + us
            now += us

    def turns(*kinds):
        state = {"next": 0}
        def part(_):
            what, tunnel, mean = kinds[state["next"] % len(kinds)]
            state["next"] += 1
            return what, tunnel, rng.expovariate(1 / mean) + 0.5
        return part

    feed_life = 0.93 * run
    thread(1, "feed", 0, feed_life, turns(("work", "", 9), ("put", "bases", 80)))
    for number in range(3):
        part = turns(("task", "matches", 700), ("get", "matches", 25))
        thread(2 + number, "fine", number, run,
               lambda now, part=part: part(now) if now < run - end_us else ("get", "matches", end_us))
    thread(5, ODD_NAME, 0, run, turns(("work", "", 4), ("get", "scores", 60)))
    name_of(2, 1, "stage 'coarse'")
    slice_of(2, 1, "stage", "coarse", 0, run)
    step = 1000
    at, held, pool = 0.0, {"bases": 0, "matches": 0, "again": 0, "scores": 0}, 0
    capacity = {"bases": 1024, "matches": 256, "again": 64, "scores": 4096}
    levels = {name: [] for name in held}
    while at < run:
        ramp = min(1.0, at / (0.05 * run)) * min(1.0, (run - at) / (0.06 * run))
        held["bases"] = int(1024 * min(1, ramp * 1.4) * rng.uniform(0.86, 1.05))
        held["matches"] = int(256 * ramp * rng.uniform(0.93, 1.1))
        held["again"] = int(64 * ramp * rng.uniform(0.2, 1.2))
        held["scores"] = rng.choice([0, 0, 0, 1, 3])
        pool = max(0, int(300 * (1 - abs(at / run - 0.6) * 4))) if ramp == 1 else 0
        for name in held:
            held[name] = max(0, min(held[name], capacity[name]))
            levels[name].append(held[name])
            args = {"items": held[name], "spilled": pool if name == "again" else 0}
            events.append({"ph": "C", "pid": 3, "tid": 0, "name": name, "ts": at, "args": args})
        if ramp > 0.1:
            slice_of(2, 1, "device", "active", at, step, blocks=16 * rng.uniform(0.2, 0.6))
        at += step
    for tid, name, mean in ((1, "to the device", 900), (2, "from the device", 1600)):
        name_of(4, tid, name)
        at = 200.0
        while at < feed_life:
            us = rng.uniform(12, 160)
            slice_of(4, tid, "dma", "copy", at, us, items=100, bytes=6400, batches=1)
            at += us + rng.expovariate(1 / mean)
    slice_of(5, 1, "run", "run", 0, run)
    slice_of(5, 1, "end", "end detection", run - end_us, end_us)
    moment("growth", "tunnel 'scores' grows", 0.1 * run, "from 1024 to 4096 items")
    moment("spill", "'again' spills", 0.35 * run, "")

    def stage(name, gpu, executors, items, life, busy, reads, writes):
        def share(what, tunnel):
            return -1 if gpu else waits.get((name, what, tunnel), 0) / (life * executors)
        reads = [{"tunnel": t, "waits": share("get", t)} for t in reads]
        writes = [{"tunnel": t, "waits": share("put", t)} for t in writes]
        if not gpu:
            busy = 1 - sum(w["waits"] for w in reads + writes)
        return {"name": name, "gpu": gpu, "executors": executors, "items": items, "seconds": life * executors / 1e6,
                "busy": busy, "from": reads, "into": writes}

    def tunnel(name, direction, movement, item_bytes, items, **more):
        seen = levels[name]
        def part(when):
            return sum(map(when, seen)) / len(seen)
        return {"name": name, "direction": direction, "movement": movement, "item_bytes": item_bytes,
                "why": "asked for" if movement == "dma" else "one home", "capacity_items": capacity[name],
                "items": items, "finished": items, "bytes": items * item_bytes, "batches": 0, "spilled": 0,
                "throttled": 0, "put_groups": 0, "get_groups": 0, "most_items": max(seen), "mean_items": part(lambda n: n),
                "full": part(lambda n: n >= capacity[name]), "empty": part(lambda n: n == 0)} | more

    stats = {"device": "cuda:0", "seconds": seconds, "items": 61234, "end_detection_us": end_us,
             "stages": [stage("feed", False, 1, 0, feed_life, 0, [], ["bases"]),
                        stage("coarse", True, 16, 41020, run, 0.38, ["bases", "again"], ["matches", "again"]),
                        stage("fine", False, 3, 980, run, 0, ["matches"], ["scores"]),
                        stage(ODD_NAME, False, 1, 980, run, 0, ["scores"], [])],
             "tunnels": [tunnel("bases", "cpu_to_gpu", "dma", 64, 40020, batches=260),
                         tunnel("matches", "gpu_to_cpu", "dma", 16, 980, batches=140),
                         tunnel("again", "gpu_to_gpu", "memory", 64, 1000, spilled=420),
                         tunnel("scores", "cpu_to_cpu", "memory", 8, 980)]}
    return {"displayTimeUnit": "ms", "traceEvents": events,
            "hiway": {"version": "0.1.0", "trace_version": 1, "stats": stats}}


class Page(html.parser.HTMLParser):
    """What the DOM has, where the test looks."""

    def __init__(self, text):
        super().__init__()
        self.findings, self.rows, self.ticks, self.classes, self.body = [], [], 0, set(), {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        got = dict(attributes)
        css = (got.get("class") or "").split()
        if tag == "html":
            self.classes = set(css)
        if tag == "body":
            self.body = got
        if tag == "li":
            self.findings.append("")
        if "label" in css:
            self.rows.append(got.get("title"))
        if "tick" in css:
            self.ticks += 1

    def handle_data(self, data):
        if self.findings:
            self.findings[-1] += data


def run(command):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("program", type=pathlib.Path)
    arguments.add_argument("--keep", type=pathlib.Path, help="leave trace, page and pictures there")
    given = arguments.parse_args()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        print("skipped: Chromium is not installed")
        return 77
    with tempfile.TemporaryDirectory() as temporary:
        return check(given, chromium, given.keep or pathlib.Path(temporary), temporary)


def check(given, chromium, folder, temporary):
    folder.mkdir(parents=True, exist_ok=True)
    trace, page = folder / "trace.json", folder / "report.html"
    trace.write_text(json.dumps(sample_trace()))
    done = run([given.program, "report", trace, "-o", page])
    if done.returncode != 0:
        print(f"FAILED: hiway report ended with {done.returncode}: {done.stderr}")
        return 1
    sentences = done.stdout.splitlines()
    browser = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr",
               "--v=0", f"--user-data-dir={temporary}/profile", "--window-size=1360,1930"]
    for scheme, more in (("light", []), ("dark", ["--blink-settings=preferredColorScheme=0"])):
        shot = run(browser + more + [f"--screenshot={folder}/{scheme}.png", page.resolve().as_uri()])
        if not (folder / f"{scheme}.png").is_file():
            print(f"FAILED: no picture: {shot.stderr[-2000:]}")
            return 1
    def dom_of(file):
        seen = run(browser + ["--dump-dom", file.resolve().as_uri()])
        return Page(seen.stdout), [line for line in seen.stderr.splitlines() if "CONSOLE" in line]

    dom, problems = dom_of(page)
    if "js" not in dom.classes:
        problems.append("the script has not run to its end")
    for sentence in sentences:
        if not any(sentence in found for found in dom.findings):
            problems.append(f"no sentence: {sentence}")
    if not sentences or "'fine' is the bottleneck" not in sentences[0]:
        problems.append(f"the bottleneck is not named: {sentences}")
    for row in ["stage 'feed', thread 0", "stage 'fine', thread 2", f"stage '{ODD_NAME}', thread 0", "stage 'coarse'",
                "to the device", "from the device", "bases", "matches", "again", "scores"]:
        if row not in dom.rows:
            problems.append(f"no row: {row}")
    if dom.ticks < 8:
        problems.append(f"{dom.ticks} ticks on two axes")
    touched = folder / "touched.html"
    touched.write_text(page.read_text().replace("</body>", GESTURES))
    after, more_problems = dom_of(touched)
    problems += more_problems
    for key, text in (("data-track", "blocks that took items"), ("data-tunnel", "items in the ring: "),
                      ("data-view", "10000 0 80000 40")):
        if text not in after.body.get(key, ""):
            problems.append(f"{key}: no '{text}' in {after.body.get(key)!r}")
    for problem in problems:
        print("FAILED:", problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
