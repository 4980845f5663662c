#!/usr/bin/env python3
"""blast_ncbi.py PROGRAM GENOME: what NCBI's blastn reports without gaps from words of 11 bases, and nothing else, `hiway run blast` finds too.

The database is the genome (FASTA, .gz), the query 20 pieces of it in a row, each with 5 % random bases. blastn extends on the plus strand, at +1
and -3, without masking, and reports all regions.
  each region of blastn has one of our hits within it, on its diagonal;
  each of our hits lies within a region of blastn, on its diagonal.
Ends with 77 where there is no blastn.
"""
import gzip
import random
import shutil
import subprocess
import sys
import tempfile

SEED_BASES = 8


def write(path, name, bases):
    with open(path, "w") as file:
        file.write(f">{name}\n{bases}\n")


def rows(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def compare(program, genome):
    if shutil.which("blastn") is None:
        print("skipped: no blastn (Debian has it in ncbi-blast+)")
        return 77
    draw = random.Random(1)
    with gzip.open(genome, "rt") as file:
        bases = "".join(line.strip() for line in file if not line.startswith(">")).upper()
    query_bases = ""
    for _ in range(20):
        at = draw.randrange(len(bases) - 150)
        query_bases += "".join(draw.choice("ACGT") if draw.random() < 0.05 else base for base in bases[at : at + 150])

    with tempfile.TemporaryDirectory() as folder:
        database, query = f"{folder}/database.fa", f"{folder}/query.fa"
        write(database, "database", bases)
        write(query, "query", query_bases)
        found = rows(
            ["blastn", "-task", "blastn", "-word_size", "11", "-ungapped", "-reward", "1", "-penalty", "-3"]
            + ["-strand", "plus", "-dust", "no", "-soft_masking", "false", "-evalue", "1e9"]
            + ["-outfmt", "6 sstart send qstart", "-subject", database, "-query", query]
        )
        ours = rows(
            [program, "run", "blast", "--device", "simt", "--database", database, "--query", query]
            + ["--tsv", "-", "--json", f"{folder}/run.json"]
        )
    # blastn counts from 1, and its last base is the region's.
    regions = [(int(d) - 1, int(d_last), int(q) - 1) for d, d_last, q in found]
    hits = [(int(d), int(q)) for d, q, _ in ours[1:]]

    def lies_in(hit, region):
        (d, q), (first, end, query_first) = hit, region
        return d - q == first - query_first and first <= d and d + SEED_BASES <= end

    missed = [region for region in regions if not any(lies_in(hit, region) for hit in hits)]
    alone = [hit for hit in hits if not any(lies_in(hit, region) for region in regions)]
    print(f"blastn: {len(regions)} regions, {len(missed)} without a hit; ours: {len(hits)} hits, {len(alone)} in no region")
    for wrong in missed + alone:
        print("wrong:", wrong)
    return 0 if regions and not missed and not alone else 1


if __name__ == "__main__":
    sys.exit(compare(*sys.argv[1:]))
