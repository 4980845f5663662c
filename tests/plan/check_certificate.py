#!/usr/bin/env python3
"""Checks a certificate of `hiway plan --symbolic`; shares nothing with the planner.

check_certificate.py PROGRAM.json CERTIFICATE.json [NAME=VALUE...]   the other parameters' values, where not the file's
check_certificate.py self-test HIWAY EXAMPLES      certificates of the examples hold, and with one number changed they fail

For all values of the symbols, in exact fractions:
  - every two tasks that must run one after the other are a wait of the list (from the statements' windows, anew);
  - what is given in a wait or fact is what the statements say, or follows by putting equals for equals;
  - every proof, multiplied out, is what it claims.
For small values, against the program, read and run here:
  - every task is one point of one statement, its windows are the statement's; so are the elements that stay;
  - the times put all tasks in an order that their windows allow, in the room of the bound.
So what is left to believe is that statements which are right for small values are right for all.
"""
import ast
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from fractions import Fraction


class Refused(Exception):
    pass


def expect(holds, what):
    if not holds:
        raise Refused(what)


class Poly:
    """{sorted names: factor}"""

    def __init__(self, terms):
        self.terms = {product: factor for product, factor in terms.items() if factor != 0}

    @staticmethod
    def of(value):
        if isinstance(value, Poly):
            return value
        if isinstance(value, dict):
            terms = {}
            for product, factor in value.items():
                key = tuple(sorted(product.split("*"))) if product else ()
                terms[key] = terms.get(key, 0) + Fraction(factor)
            return Poly(terms)
        return Poly({(): Fraction(value)})

    @staticmethod
    def name(name):
        return Poly({(name,): Fraction(1)})

    def __add__(self, other):
        terms = dict(self.terms)
        for product, factor in Poly.of(other).terms.items():
            terms[product] = terms.get(product, 0) + factor
        return Poly(terms)

    def __mul__(self, other):
        terms = {}
        for (a, x), (b, y) in itertools.product(self.terms.items(), Poly.of(other).terms.items()):
            product = tuple(sorted(a + b))
            terms[product] = terms.get(product, 0) + x * y
        return Poly(terms)

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + -Poly.of(other)

    def __eq__(self, other):
        return self.terms == other.terms

    def __hash__(self):
        return hash(frozenset(self.terms.items()))

    def put(self, name, other):
        total = Poly({})
        for product, factor in self.terms.items():
            term = Poly({tuple(n for n in product if n != name): factor})
            for _ in range(product.count(name)):
                term = term * other
            total = total + term
        return total

    def renamed(self, keep):
        return Poly({tuple(sorted(n if n in keep else n + "'" for n in product)): factor
                     for product, factor in self.terms.items()})

    def at(self, values):
        total = Fraction(0)
        for product, factor in self.terms.items():
            for name in product:
                factor = factor * values[name]
            total += factor
        return total

    def tight(self):
        """p >= 0 over the integers, with coprime factors and the number rounded down."""
        names = [factor for product, factor in self.terms.items() if product]
        if not names:
            return self
        common, divisor = 1, 0
        for factor in self.terms.values():
            common = common * factor.denominator // gcd(common, factor.denominator)
        for factor in names:
            divisor = gcd(divisor, abs(int(factor * common)))
        terms = {product: factor * common / divisor for product, factor in self.terms.items()}
        terms[()] = Fraction(terms.get((), Fraction(0)).__floor__())
        return Poly(terms)


def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


def polys(values):
    return [Poly.of(value) for value in values]


# ---- the program, for small values
class Truths(ast.NodeTransformer):
    """`and` and `or` give 1 or 0, and ~ stands for !, which binds as tightly."""

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        return ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), node))

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        return ast.UnaryOp(ast.Not(), node.operand) if isinstance(node.op, ast.Invert) else node


def evaluate(expression, values):
    text = str(expression)
    expect(re.fullmatch(r"[\w\s+\-*/%()<>=!&|]+", text), f"no expression: {text}")
    text = re.sub("!(?!=)", "~", text.replace("/", "//").replace("&&", " and ").replace("||", " or "))
    tree = ast.fix_missing_locations(Truths().visit(ast.parse(text.strip(), mode="eval")))
    return int(eval(compile(tree, "", "eval"), {"__builtins__": {}}, values))  # its names and signs are checked


def tasks_of(program, params):
    """(position, loop values, process, [(access, stream, index, count, reach)]), in the order of creation."""
    positions = {}

    def number(body):
        for node in body:
            if "task" in node:
                positions[id(node)] = len(positions)
            for part in ("body", "then", "else"):
                number(node.get(part, []))

    def walk(body, values, loops):
        for node in body:
            if "for" in node:
                step = evaluate(node.get("step", 1), values)
                for value in range(evaluate(node["from"], values), evaluate(node["to"], values), step):
                    yield from walk(node["body"], {**values, node["for"]: value}, loops + [value])
            elif "if" in node:
                branch = "then" if evaluate(node["if"], values) else "else"
                yield from walk(node.get(branch, []), values, loops)
            else:
                operations = []
                for op in node["ops"]:
                    index = op.get("index", [])
                    index = tuple(evaluate(i, values) for i in (index if isinstance(index, list) else [index]))
                    access = next(a for a in ("write", "read", "peek") if a in op)
                    amount = evaluate(op[access], values)
                    count = 0 if access == "peek" else amount
                    reach = evaluate(op.get("horizon", amount), values)
                    operations.append(("write" if access == "write" else "read", op["stream"], index, count, reach))
                yield positions[id(node)], loops, node.get("process", ""), operations

    number(program["body"])
    return list(walk(program["body"], params, []))


class Run:
    """The windows of all tasks, by the definitions."""

    def __init__(self, program, params):
        self.tasks = tasks_of(program, params)
        self.streams = {}
        for stream in program["streams"]:
            dims = stream.get("dims", [])
            dims = [range(evaluate(d, params)) for d in (dims if isinstance(dims, list) else [dims])]
            for index in itertools.product(*dims):
                self.streams[stream["name"], index] = evaluate(stream.get("initial", 0), params)
        written = dict(self.streams)
        read = dict.fromkeys(self.streams, 0)
        self.windows = []  # one a task: {(access, stream, index): (first, elements)}
        for _, _, _, operations in self.tasks:
            own = {}
            for access, stream, index, count, reach in operations:
                expect((stream, index) in self.streams and count >= 0 and reach >= count, "the program is bad input")
                key = (access, stream, index)
                done = written if access == "write" else read
                counts, most = own.get(key, (0, 0))
                own[key] = (counts + count, max(most, reach, counts + count))
            self.windows.append({})
            for (access, stream, index), (count, reach) in own.items():
                done = written if access == "write" else read
                elements = count if access == "write" else reach
                if elements:
                    self.windows[-1][access, stream, index] = (done[stream, index], elements)
                done[stream, index] += count
        self.written, self.read = written, read

    def waits(self, bound, fifo):
        """(earlier, later) numbers of tasks."""
        by_stream = {}
        for task, own in enumerate(self.windows):
            for (access, stream, index), window in own.items():
                by_stream.setdefault((stream, index), {"write": [], "read": []})[access].append((task, *window))
        for (stream, _), users in by_stream.items():
            for (w, first, n), (r, start, reach) in itertools.product(users["write"], users["read"]):
                if first <= start + reach - 1 and start <= first + n - 1:
                    yield w, r
                if start <= first + n - bound[stream] - 1:
                    yield r, w
            if fifo:
                for users_of in users.values():
                    yield from itertools.combinations([user[0] for user in users_of], 2)
        processes = {}
        for task, (_, _, process, _) in enumerate(self.tasks):
            if process:
                processes.setdefault(process, []).append(task)
        for own in processes.values():
            yield from itertools.combinations(own, 2)


class Certificate:
    def __init__(self, program, certificate, params):
        self.program, self.c = program, certificate
        self.params = {**program.get("params", {}), **params}
        semantics = program.get("semantics", {})
        self.fifo = semantics.get("discipline", "indexed") == "fifo"
        self.hold = semantics.get("leftover", "hold") == "hold"
        self.keep = set(certificate["params"])
        self.bound = {name: Poly.of(value) for name, value in certificate["bound"].items()}
        self.floors = [(f["value"], Poly.of(f["of"]), Fraction(f["by"])) for f in certificate["floors"]]
        self.domain = polys(certificate["domain"])
        self.statements = []
        for s in certificate["statements"]:
            windows = [{**w, "index": polys(w["index"]),
                        **{key: Poly.of(w[key]) for key in ("first", "count", "reach", "total") if key in w}}
                       for w in s["windows"]]
            self.statements.append({**s, "values": polys(s["values"]), "domain": polys(s["domain"]),
                                    "windows": windows, "times": polys(s["times"])})
        self.rests = [{**r, "domain": polys(r["domain"]), "written": Poly.of(r["written"]), "read": Poly.of(r["read"])}
                      for r in certificate["rests"]]

    def second(self, p):
        return p.renamed(self.keep)

    # ---- for all values
    def check_params(self):
        known = {(Poly.name(s) - self.c["least"]).tight() for s in self.c["symbols"]}
        for value, of, by in self.floors:
            expect(by > 0 and by.denominator == 1, "a floor's divisor")
            rest = of - Poly.name(value) * by
            if value in self.keep:
                known |= {rest.tight(), (Poly.of(by - 1) - rest).tight()}
        expect(set(self.domain) == known, "the parameters' domain is another")
        for part in self.statements + self.rests:
            domain = set(part["domain"])
            expect(known <= domain and all(p == p.tight() for p in domain), "a domain is not written as it should")

    def shows(self, claim, given, proof):
        total = Poly({})
        for factor, numbers in proof:
            expect(Fraction(factor) >= 0, "a factor below 0")
            product = Poly.of(Fraction(factor))
            for number in numbers:
                expect(0 <= number < len(given), "a number of nothing")
                product = product * given[number]
            total = total + product
        expect(total == claim, "a proof is not what it claims")

    def orders(self, later, earlier):
        """Ways in which `earlier` is created before `later`: (equal to 0, at least 0)."""
        equal = []
        for own, other in zip(later["loops"], earlier["loops"]):
            if own != other:
                break
            ahead = Poly.name(own) - Poly.name(other + "'")
            yield list(equal), [ahead - 1]
            equal.append(ahead)
        if earlier["position"] < later["position"]:
            yield list(equal), []

    def waits(self):
        """All that the windows ask for: key, equal to 0, at least 0."""
        for (l, later), (e, earlier) in itertools.product(enumerate(self.statements), repeat=2):
            domain = later["domain"] + [self.second(p) for p in earlier["domain"]]
            ways = list(self.orders(later, earlier))
            if later["process"] and later["process"] == earlier["process"]:
                for o, (equal, least) in enumerate(ways):
                    yield ("process", l, e, 0, 0, o), equal, domain + least
            for (lw, own), (ew, other) in itertools.product(enumerate(later["windows"]), enumerate(earlier["windows"])):
                if own["stream"] != other["stream"]:
                    continue
                same = [self.second(b) - a for a, b in zip(own["index"], other["index"])]
                writes, wrote = own["access"] == "write", other["access"] == "write"
                elements = own["count" if writes else "reach"]
                first, others = self.second(other["first"]), self.second(other["count" if wrote else "reach"])
                some = [elements - 1, others - 1]
                if writes and not wrote:
                    room = own["first"] + elements - self.bound[own["stream"]] - 1 - first
                    yield ("room", l, e, lw, ew, 0), same, domain + some + [room]
                elif wrote and not writes:
                    meet = [own["first"] + elements - 1 - first, first + others - 1 - own["first"]]
                    yield ("flow", l, e, lw, ew, 0), same, domain + some + meet
                elif self.fifo:
                    for o, (equal, least) in enumerate(ways):
                        key = ("writers" if writes else "readers", l, e, lw, ew, o)
                        yield key, equal + same, domain + some + least

    def check_waits(self):
        listed = {}
        for w in self.c["waits"]:
            key = (w["what"], w["later"], w["earlier"], w["later_window"], w["earlier_window"], w["order"])
            expect(key not in listed, f"{key} is there twice")
            listed[key] = w
        for key, equal, least in self.waits():
            expect(key in listed, f"{key} is missing")
            wait = listed.pop(key)
            replaced = [(name, Poly.of(by)) for name, by in wait["replaced"]]
            for name, by in replaced:
                own = Poly.name(name) - by
                expect(any(e.tight() in (own.tight(), (-own).tight()) and e.tight() == -(-e).tight() for e in equal) and
                       (name,) not in by.terms, f"{key}: '{name}' is something else")
                equal = [e.put(name, by) for e in equal]
                least = [p.put(name, by) for p in least]
            known = {p.tight() for p in least} | {e.tight() for e in equal} | {(-e).tight() for e in equal}
            given = polys(wait["given"])
            expect(set(given) <= known, f"{key}: what is given does not follow")
            proofs = wait["proofs"]
            if wait["empty"]:
                expect(len(proofs) == 1, f"{key}: no proof")
                self.shows(Poly.of(-1), given, proofs[0])
                continue
            later, earlier = self.statements[wait["later"]]["times"], self.statements[wait["earlier"]]["times"]
            expect(1 <= len(proofs) <= min(len(later), len(earlier)), f"{key}: no proof")
            for entry, proof in enumerate(proofs):
                claim = later[entry] - self.second(earlier[entry])
                for name, by in replaced:
                    claim = claim.put(name, by)
                self.shows(claim - (1 if entry + 1 == len(proofs) else 0), given, proof)
        expect(not listed, "waits that nothing asks for")

    def check_facts(self):
        """What must be there: what is read is written, what stays finds room."""
        needed = []
        for s in self.statements:
            for w in s["windows"]:
                if w["access"] == "read":
                    needed.append((w["total"] - w["first"] - w["reach"], s["domain"] + [w["reach"] - 1]))
        for stream in self.program["streams"]:
            initial = stream.get("initial", 0)
            if re.fullmatch(r"\d+", str(initial)):
                needed.append((self.bound[stream["name"]] - int(initial), self.domain))
        if self.hold:
            needed += [(self.bound[r["stream"]] - r["written"] + r["read"], r["domain"]) for r in self.rests]
        facts = {}
        said = {p.tight() for _, domain in needed for p in domain}
        said |= {p for part in self.statements + self.rests for p in part["domain"]}
        for fact in self.c["facts"]:
            given, claim = polys(fact["given"]), Poly.of(fact["at_least_0"])
            expect(set(given) <= said, "what is given in a fact is said nowhere")
            self.shows(claim, given, fact["proof"])
            facts.setdefault(claim, []).append(set(given))
        for claim, domain in needed:
            known = {p.tight() for p in domain}
            expect(any(given <= known for given in facts.get(claim.tight(), [])), "a fact is missing")

    # ---- for small values
    def floor_values(self, values):
        for value, of, by in self.floors:
            try:
                values[value] = Fraction((of.at(values) / by).__floor__())
            except KeyError:
                pass  # of a loop that is not this one

    def point_of(self, statement, loops, values):
        values = dict(values)
        for name, value, number in zip(statement["loops"], statement["values"], loops):
            self.floor_values(values)
            start = value.at({**values, name: Fraction(0)})
            values[name] = (number - start) / (value.at({**values, name: Fraction(1)}) - start)
        self.floor_values(values)
        return values

    def check_at(self, symbols):
        params = {**self.params, **symbols}
        run = Run(self.program, params)
        outside = {name: Fraction(value) for name, value in symbols.items()}
        self.floor_values(outside)
        times = []
        for task, (position, loops, process, _) in enumerate(run.tasks):
            points = []
            for statement in self.statements:
                if statement["position"] == position:
                    values = self.point_of(statement, loops, outside)
                    if all(p.at(values) >= 0 for p in statement["domain"]):
                        points.append((statement, values))
            expect(len(points) == 1, f"{symbols}: task {task} is a point of {len(points)} statements")
            statement, values = points[0]
            expect(statement["process"] == process, "another process")
            seen = {}
            for w in statement["windows"]:
                index = tuple(int(i.at(values)) for i in w["index"])
                key = (w["access"], w["stream"], index)
                elements = w["count" if w["access"] == "write" else "reach"].at(values)
                if elements:
                    seen[key] = (w["first"].at(values), max(elements, seen.get(key, (0, 0))[1]))
                if w["access"] == "read":
                    expect(w["total"].at(values) == run.written[w["stream"], index], f"{symbols}: another total")
            expect(seen == run.windows[task], f"{symbols}: task {task} has other windows")
            times.append([t.at(values) for t in statement["times"]])
        for (stream, index), written in run.written.items():
            rests = []
            for rest in self.rests:
                values = {**outside, **{name: Fraction(i) for name, i in zip(rest["index"], index)}}
                if rest["stream"] == stream and all(p.at(values) >= 0 for p in rest["domain"]):
                    rests.append((rest["written"].at(values), rest["read"].at(values)))
            expect(rests == [(written, run.read[stream, index])], f"{symbols}: other elements stay in {stream}{index}")
        bound = {name: p.at(outside).__floor__() for name, p in self.bound.items()}
        for earlier, later in run.waits(bound, self.fifo):
            expect(times[earlier] < times[later], f"{symbols}: task {later} runs before {earlier}")

    def check(self):
        self.check_params()
        self.check_waits()
        self.check_facts()
        symbols = self.c["symbols"]
        span = range(self.c["least"], self.c["least"] + (6 if len(symbols) == 1 else 4))
        for values in itertools.product(span, repeat=len(symbols)):
            self.check_at(dict(zip(symbols, values)))


def check(program, certificate, params):
    """Why it is refused, or None."""
    try:
        Certificate(program, certificate, params).check()
    except Refused as refused:
        return str(refused)
    except (KeyError, ValueError, IndexError, TypeError, ZeroDivisionError) as error:
        return f"no certificate: {error!r}"
    return None


# ---- the checker's own test
def numbers_in(value, path=()):
    """Paths to all factors and numbers that a proof or a claim has."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from numbers_in(one, path + (key,))
    elif isinstance(value, list):
        for n, one in enumerate(value):
            yield from numbers_in(one, path + (n,))
    elif isinstance(value, str) and re.fullmatch(r"-?\d+(/\d+)?", value):
        yield path


def self_test(hiway, examples):
    cases = [("two_writes_four_reads", ["N"]), ("sink_first", ["N"]), ("stencil_chain", ["N", "K"]),
             ("smith_waterman", ["ROWS", "COLUMNS"]), ("cholesky", ["N"]), ("gauss_seidel", ["N", "T"]),
             ("borders", ["N"])]
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, symbols in cases:
            program = pathlib.Path(examples) / f"{name}.json"
            target = pathlib.Path(folder) / f"{name}.certificate"
            command = [hiway, "plan", str(program), "--certificate", str(target), "--json"]
            for symbol in symbols:
                command += ["--symbolic", symbol]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            source, certificate = json.loads(program.read_text()), json.loads(target.read_text())
            why = check(source, certificate, {})
            if why:
                print(f"{name}: refused: {why}")
                failures += 1
            paths = list(numbers_in(certificate))
            step = max(1, len(paths) // 100)
            accepted = []
            for path in paths[::step]:
                other = json.loads(target.read_text())
                at = other
                for key in path[:-1]:
                    at = at[key]
                at[path[-1]] = str(Fraction(at[path[-1]]) + 5)
                # Times that all move alike are as good, and of what stays one bound may follow from the others.
                spared = "times" in path or (path[0] == "rests" and "domain" in path)
                if check(source, other, {}) is None and not spared:
                    accepted.append(path)
            print(f"{name}: holds; {len(paths[::step])} changes of one number, {len(accepted)} accepted")
            for path in accepted:
                print("  accepted: a change of", "/".join(map(str, path)))
            failures += len(accepted)
    return 1 if failures else 0


def main(arguments):
    if arguments and arguments[0] == "self-test":
        return self_test(arguments[1], arguments[2])
    program, certificate = (json.loads(pathlib.Path(path).read_text()) for path in arguments[:2])
    params = {name: int(value) for name, value in (text.split("=") for text in arguments[2:])}
    why = check(program, certificate, params)
    print(f"refused: {why}" if why else "holds")
    return 1 if why else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
