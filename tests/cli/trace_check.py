#!/usr/bin/env python3
"""Runs gene alignment with a trace: `trace_check.py HIWAY TARGET.fa.gz`. The file is JSON, its slices nest, its counters end
with the report's numbers, and the report's numbers are those of --stats."""
import json
import pathlib
import subprocess
import sys
import tempfile

ROUNDING_US = 0.0015


def nested(slices):
    """Complaints about slices of one track that overlap without lying in each other."""
    open_until = []
    for begin, minus_length, name in sorted((s["ts"], -s["dur"], s["name"]) for s in slices):
        end = begin - minus_length
        while open_until and open_until[-1][0] <= begin + ROUNDING_US:
            open_until.pop()
        if open_until and end > open_until[-1][0] + ROUNDING_US:
            yield f"'{name}' at {begin} us reaches {end - open_until[-1][0]:.3f} us beyond '{open_until[-1][1]}'"
        open_until.append((end, name))


def complaints(trace, stats):
    events = trace["traceEvents"]
    tracks = {}
    for event in events:
        if event["ph"] == "X":
            tracks.setdefault((event["pid"], event["tid"]), []).append(event)
    for track in tracks.values():
        yield from nested(track)
    own = trace["hiway"]["stats"]
    for key in ("items", "seconds", "stages", "tunnels"):
        if own[key] != stats[key]:
            yield f"stats: {key} is {own[key]} in the trace, {stats[key]} beside it"
    if not own["tunnels"] or not own["stages"]:
        yield "no tunnels or no stages"
    for tunnel in own["tunnels"]:
        last = [e for e in events if e["ph"] == "C" and e["name"] == f"{tunnel['name']}: total"][-1]["args"]
        if (last["put"], last["ended"]) != (tunnel["items"], tunnel["finished"]):
            yield f"tunnel {tunnel['name']}: counters end with {last}, the report has {tunnel['items']}"
        if tunnel["items"] == 0 or tunnel["bytes"] != tunnel["items"] * tunnel["item_bytes"]:
            yield f"tunnel {tunnel['name']}: {tunnel['items']} items, {tunnel['bytes']} bytes"
    copies = [e["args"] for e in events if e.get("cat") == "dma"]
    by_dma = [t for t in own["tunnels"] if t["movement"] == "dma"]
    if sum(c["batches"] for c in copies) != sum(t["batches"] for t in by_dma):
        yield "copies and batches differ"
    for stage in own["stages"]:
        lives = [e for e in events if e.get("cat") == "stage" and e["name"] == stage["name"]]
        if len(lives) != (1 if stage["gpu"] else stage["executors"]):
            yield f"stage {stage['name']}: {len(lives)} lives"
        waits = sum(x["waits"] for x in stage["from"] + stage["into"] if x["waits"] > 0)
        if not stage["gpu"] and abs(stage["busy"] + waits - 1) > 0.001:
            yield f"stage {stage['name']}: busy {stage['busy']} and waits {waits} are not the whole"


def main():
    program, target = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        trace, stats = pathlib.Path(folder, "trace.json"), pathlib.Path(folder, "stats.json")
        for repeat in ("1", "2"):
            subprocess.run([program, "run", "gene-alignment", "--device", "simt", "--target", target, "--query-at", "20000",
                            "--query-length", "512", "--mutate", "0.05", "--trace", trace, "--stats", stats, "--repeat", repeat],
                           check=True, stdout=subprocess.DEVNULL)
            parsed, numbers = json.loads(trace.read_text()), json.loads(stats.read_text())
            found = list(complaints(parsed, numbers))
            if found:
                sys.exit("\n".join(found[:10]))
        # The checks can fail.
        tunnel = parsed["hiway"]["stats"]["tunnels"][0]
        tunnel["items"] += 1
        slices = [e for e in parsed["traceEvents"] if e["ph"] == "X"]
        slices[0]["dur"] /= 2
        if len(list(complaints(parsed, numbers))) < 3:
            sys.exit("planted faults were not found")
        if set(pathlib.Path(folder).iterdir()) != {trace, stats}:
            sys.exit("other files were left")


main()
