#!/usr/bin/env python3
"""Keeps the code's figures within the limits below: `figures.py ROOT`, or `figures.py self-test`.

functions  their lines and their cyclomatic complexity, as the Python package lizard counts them. Ends with 77 where it
           is missing (scripts/setup installs it).
files      their lines. A file that is one proof may have more; its head says so: "// One proof: WHY".
columns    characters of a line.
classes    data members that are not static; member functions that are not deleted. The parser is a simple one: it
           reads declarations and knows no macro with a body.
movements  places that name a movement, outside the folder of the movements and the table that chooses one.
"""
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "build" / "tools"))  # where scripts/setup installs it
try:
    import lizard
except ImportError:
    print("skipped: no Python package lizard (scripts/setup installs it)")
    sys.exit(77)

import planted

LIMITS = {
    "lines of a function": 60,
    "complexity of a function": 15,
    "functions above that complexity": 8,
    "lines of a file": 450,
    "columns of a line": 120,
    "fields of a class": 15,
    "member functions of a class": 30,
    "places that name a movement": 6,
}
# Classes that may be larger, and why. An entry that is not needed is an error.
ENDS = "its names are the contract: one for each of lane, warp and block, waiting or not, at the host or in a kernel"
MACHINE = "it has a function for each operation that an algorithm may ask of a machine"
TABLE = "a row or table that the host fills and a kernel reads, field by field; its functions, if any, only look something up"
RECORD = "its fields are the contract: users read them by name"
EXEMPT_CLASSES = {
    "AnyStencilOutlet": ENDS,
    "Outlet": ENDS,
    "Pipeline": "its names are the contract; it has one field",
    "ThreadMachine": MACHINE,
    "FiberMachine": MACHINE,
    "CudaMachine": MACHINE,
    "TunnelReport": RECORD,
    "SegmentConfig": RECORD,
    "Plan": RECORD,
    "ThreadTrace": "what one CPU thread writes: its open slice, its sums, its ring of slices; not split yet",
    "Placement": TABLE,
    "InletView": TABLE,
    "NodeRow": TABLE,
    "NodeDescription": TABLE,
    "GetBoard": TABLE,
    "TerminationTable": TABLE,
}

ROOMS = ("include/", "lib/", "monitors/", "stencil/")
SOURCES = (".hpp", ".cuh", ".cpp", ".cu")
MOVEMENTS_ROOM = re.compile(r"lib/movement/|lib/movement_table\.")
ONE_PROOF = re.compile(r"^// One proof: (?=\S+ \S+ \S+)", re.M)
HEAD = re.compile(r"(?://[^\n]*\n|\s*\n)*")

COMMENT_OR_TEXT = re.compile(r"""R"(\w*)\(.*?\)\1"|//[^\n]*|/\*.*?\*/|(?<!\w)'(?:\\.|[^'\\\n])+'|"(?:\\.|[^"\\\n])*\"""", re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
TOKEN = re.compile(r"\w+|::|->|\[\[|\]\]|\S")


def code_of(source):
    """Without comments, directives and what stands in quotes; lines keep their numbers."""
    blank = lambda match: ("0" if match[0][0] in "\"'R" else "") + "\n" * match[0].count("\n")
    return DIRECTIVE.sub(blank, COMMENT_OR_TEXT.sub(blank, source))


class Tokens:
    """Tokens of C++ code. `text` and `at` have each one and its place in the code; `end[i]` is the token that closes the
    bracket at i."""

    OPENS = {"(": ")", "[": "]", "{": "}", "[[": "]]"}

    def __init__(self, code):
        self.text, self.at, self.end = [], [], {}
        self.open = []
        for match in TOKEN.finditer(code):
            token = match[0]
            if token == "]]" and self.open and self.text[self.open[-1]] == "[":  # a[b[i]]: two brackets
                self.add("]", match.start())
                token = "]"
            self.add(token, match.start())

    def add(self, token, at):
        if self.open and self.OPENS[self.text[self.open[-1]]] == token:
            self.end[self.open.pop()] = len(self.text)
        elif token in self.OPENS:
            self.open.append(len(self.text))
        self.text.append(token)
        self.at.append(at)

    def after_angles(self, i):
        """The place after the template arguments that begin at i; after i if they have no end: it compares."""
        depth, at = 0, i
        while at < len(self.text) and self.text[at] not in (";", ")", "]", "}"):
            token = self.text[at]
            at = self.end.get(at, at) + 1
            depth += (token == "<") - (token == ">")
            if depth == 0:
                return at
        return i + 1

    def after_requires(self, i):
        """The place after the bracketed condition, or the expression, that follows `requires` at i."""
        is_expression = self.text[i + 1] == "requires"
        i += 1 + is_expression
        if self.text[i] == "(":
            i = self.end.get(i, i) + 1
        return self.end.get(i, i) + 1 if is_expression else i


def class_heads(tokens):
    """(name, place of its opening brace) of each class that is defined."""
    text = tokens.text
    for i, word in enumerate(text):
        before = text[i - 1] if i else ";"
        if word not in ("class", "struct", "union") or before in ("enum", "<", ",", "friend"):
            continue
        name, at = "", i + 1
        while at < len(text) and text[at] not in ("{", ";", "=", ")", ">", ",", ":", "*", "&"):
            if text[at] == "<":
                at = tokens.after_angles(at)
                continue
            if text[at] in ("(", "[["):
                at = tokens.end.get(at, at)
            elif text[at] == "alignas":
                pass
            elif text[at] not in ("final", "]]", ")"):
                name = name + text[at] if name.endswith("::") or text[at] == "::" else text[at]
            at += 1
        while at < len(text) and text[at] == ":":  # its bases
            while at < len(text) and text[at] not in ("{", ";", ")"):
                at = tokens.after_angles(at) if text[at] == "<" else at + 1
        if at < len(text) and text[at] == "{":
            yield name, at


NO_MEMBERS = ("using", "typedef", "friend", "static_assert", "enum")
NESTED = ("class", "struct", "union")


def member_kind(tokens, first, last):
    """What the declaration from token `first` up to `last` is: "method", or the number of fields."""
    text = tokens.text
    i, fields, is_static = first, 1, False
    while i < last:
        token = text[i]
        if token == "operator":
            return "method"
        if token == "static":
            is_static = True
        if token == "requires":
            i = tokens.after_requires(i)
            continue
        if token in ("alignas", "decltype", "explicit", "noexcept") and text[i + 1] == "(":
            i = tokens.end.get(i + 1, i + 1)
        elif token in ("[[", "["):
            i = tokens.end.get(i, i)
        elif token == "<":
            i = tokens.after_angles(i)
            continue
        elif token == "(":
            return 1 if text[i + 1] in ("*", "&") and not is_static else 0 if text[i + 1] in ("*", "&") else "method"
        elif token in ("=", "{"):
            while i < last and text[i] != ",":  # an initializer
                i = tokens.after_angles(i) if text[i] == "<" else tokens.end.get(i, i) + 1
            continue
        elif token == ",":
            fields += 1
        i += 1
    return 0 if is_static else fields


def declaration_end(tokens, first, last):
    """The place after the declaration that begins at `first`."""
    text = tokens.text
    i, has_call, has_value, in_initializers = first, False, False, False
    while i < last:
        token = text[i]
        if token == ";":
            return i + 1
        if token == "requires":
            i = tokens.after_requires(i)
            continue
        if token == "operator" and not has_value:  # its sign is no bracket
            i += 1
            while i < last and text[i] != "(":
                i += 1
            if text[tokens.end.get(i, i) + 1 : tokens.end.get(i, i) + 2] == ["("]:
                i = tokens.end[i] + 1
            continue
        if token == "<" and not has_value and not has_call:
            i = tokens.after_angles(i)
            continue
        if token == "(":
            has_call = has_call or not has_value
        elif token == "=":
            has_value = True
        elif token == ":" and has_call and not has_value:
            in_initializers = True
        elif token == "{":
            is_body = has_call and not has_value and (not in_initializers or text[i - 1] in (")", "}"))
            if is_body:
                return tokens.end.get(i, i) + 1
        if token in Tokens.OPENS:
            i = tokens.end.get(i, i)
        i += 1
    return last


def members(tokens, brace):
    """(fields, member functions) of the class whose body opens at `brace`."""
    text, last = tokens.text, tokens.end.get(brace, len(tokens.text))
    fields = methods = 0
    i = brace + 1
    while i < last:
        begin = i
        while text[begin] in ("template", "[[") or (text[begin].isupper() and text[begin + 1] != "("):
            begin = tokens.after_angles(begin + 1) if text[begin] == "template" else tokens.end.get(begin, begin) + 1
        if text[begin] in ("public", "private", "protected") or text[begin] in (":", ";"):
            i = begin + 1
            continue
        if text[begin] in NESTED and (head := next_body(tokens, begin, last)) is not None:
            after = tokens.end.get(head, last) + 1
            end = declaration_end(tokens, after, last)
            if text[begin + 1] == "{" and text[after] == ";":  # without a name: its members are the outer one's
                fields += members(tokens, head)[0]
            elif text[after] != ";":
                fields += member_kind(tokens, after, end - 1)
            i = end
            continue
        end = declaration_end(tokens, begin, last)
        if text[begin] not in NO_MEMBERS and not (text[begin] in NESTED and end - begin <= 4):
            kind = member_kind(tokens, begin, end - 1)
            if kind == "method":
                methods += text[end - 3 : end] != ["=", "delete", ";"]
            else:
                fields += kind
        i = end
    return fields, methods


def next_body(tokens, begin, last):
    """The brace of the class whose head begins at `begin`; None if it only names a class."""
    i = begin + 1
    while i < last and tokens.text[i] not in (";", "(", "="):
        if tokens.text[i] == "{":
            return i
        i = tokens.end.get(i + 1, i) + 1 if tokens.text[i] == "alignas" else i + 1
    return None


def check_functions(path, source, complex_ones):
    name = path if path.endswith((".hpp", ".cpp")) else path + ".cpp"  # lizard knows no CUDA
    for function in lizard.analyze_file.analyze_source_code(name, source).function_list:
        lines = function.end_line - function.start_line + 1
        who = f"{path}:{function.start_line}: {function.name}"
        if lines > LIMITS["lines of a function"]:
            yield f"{who} has {lines} lines, more than {LIMITS['lines of a function']}"
        if function.cyclomatic_complexity > LIMITS["complexity of a function"]:
            complex_ones.append(f"{who} has a complexity of {function.cyclomatic_complexity}")


def check_file(path, source):
    lines = source.split("\n")
    count = source.count("\n")
    proof = ONE_PROOF.search(HEAD.match(source)[0])
    if count > LIMITS["lines of a file"] and not proof:
        yield f"{path}: {count} lines, more than {LIMITS['lines of a file']}"
    if count <= LIMITS["lines of a file"] and proof:
        yield f"{path}: its head asks for more lines than {LIMITS['lines of a file']} and it has {count}"
    for number, line in enumerate(lines, 1):
        if len(line) > LIMITS["columns of a line"]:
            yield f"{path}:{number}: {len(line)} columns, more than {LIMITS['columns of a line']}"


def check_classes(path, code, needless):
    tokens = Tokens(code)
    for name, brace in class_heads(tokens):
        fields, methods = members(tokens, brace)
        who = f"{path}:{code.count(chr(10), 0, tokens.at[brace]) + 1}: {name or 'a class without a name'}"
        problems = []
        if fields > LIMITS["fields of a class"]:
            problems.append(f"{who} has {fields} fields, more than {LIMITS['fields of a class']}")
        if methods > LIMITS["member functions of a class"]:
            problems.append(f"{who} has {methods} member functions, more than {LIMITS['member functions of a class']}")
        if name not in EXEMPT_CLASSES:
            yield from problems
        elif problems:
            needless[name] = ""
        else:
            needless.setdefault(name, f"{who} is within the limits: take it from EXEMPT_CLASSES")


def check(root):
    complex_ones, movements, needless = [], [], {}
    for path in planted.tracked(root):
        if not path.startswith(ROOMS) or not path.endswith(SOURCES):
            continue
        source = (root / path).read_text()
        code = code_of(source)
        yield from check_functions(path, source, complex_ones)
        yield from check_file(path, source)
        yield from check_classes(path, code, needless)
        if not MOVEMENTS_ROOM.match(path):
            movements += [f"{path}:{code.count(chr(10), 0, m.start()) + 1}" for m in re.finditer(r"\bMovement::", code)]
    if len(complex_ones) > LIMITS["functions above that complexity"]:
        yield from complex_ones
        yield (f"{len(complex_ones)} functions have a complexity above {LIMITS['complexity of a function']}, "
               f"more than {LIMITS['functions above that complexity']}")
    if len(movements) > LIMITS["places that name a movement"]:
        yield (f"{len(movements)} places name a movement, more than {LIMITS['places that name a movement']}: "
               + ", ".join(movements))
    yield from filter(None, needless.values())
    if (root / "tests/house/figures.py").is_file():  # the house, not a planted one
        yield from (f"no class {name}: take it from EXEMPT_CLASSES" for name in EXEMPT_CLASSES if name not in needless)


def body(statements, of="int f() {"):
    return of + "\n" + "".join(statements) + "}\n"


def fields(count):
    return "".join(f"  int f{i} = 0;\n" for i in range(count))


def methods(count):
    return "".join(f"  void m{i}() const {{ if (a < b) c(); }}\n" for i in range(count))


LINE = "  x();\n"
LONG_HEAD = "// A.\n// One proof: its three protocols share words.\n#pragma once\n"
EIGHT = [body([f"  if (x{i}) y();\n" for i in range(15)], f"void f{n}() {{") for n in range(8)]
DECLARATIONS = """
template <class T, class U = std::pair<int, int>>
class HIWAY_API Odd final : public Base<T, 3>, private Other {
  using Name = int;
  friend class Friend;
  friend bool operator==(Odd const&, Odd const&) { return true; }
  enum class Kind : int { one, two };
  HIWAY_ITEMS_END
 public:
  struct Inner { int a; int b; void c(); };
  static constexpr int limit = 3 < 4 ? 1 << 2 : 0;
  static_assert(limit > 2, "of two words");
  class Named;

 public:
  Odd() = delete;
  explicit Odd(int x) : Base<T, 3>(x), two_{x}, pair_(x, x) {}
  ~Odd();
  [[nodiscard]] HIWAY_DEVICE bool operator<(Odd const& other) const { return two_ < other.two_; }
  void operator()(int, int) const;
  explicit operator bool() const { return true; }
  template <class V>
    requires requires(V const& v) { v.x + v.y; }
  Odd(V const& v) : two_(v.x) {}
  template <class V>
    requires(sizeof(V) > 4)
  static V of(std::map<int, V> const& all = {}) noexcept(true);
  void use(int x) requires(sizeof(T) > 4) { if (x) y(); }
  auto last() const -> std::pair<int, int> { return {1, 2}; }

 private:
  std::function<void(int, int)> call_, other_;
  void (*pointer_)(int) = nullptr;
  std::map<int, std::vector<int>> two_{{1, {2, 3}}};
  std::pair<int, int> pair_ = std::pair<int, int>(1, 2);
  alignas(64) std::uint64_t words_[4]{};
  unsigned bit_ : 1 = 0;
  union {
    int i_;
    float f_;
  };
  struct { int x; } point_;
};
"""  # 9 member functions and 10 fields: call_, other_, pointer_, two_, pair_, words_, bit_, i_, f_, point_
PLANTED = [
    ({"lib/a.cpp": body([LINE] * 58)}, ""),
    ({"lib/a.cpp": "\n" + body([LINE] * 59)}, "lib/a.cpp:2: f has 61 lines, more than 60"),
    ({"monitors/a.cu": body([LINE] * 59)}, "monitors/a.cu:1: f has 61 lines"),
    ({"apps/a.cpp": body([LINE] * 59)}, ""),
    ({"lib/a.cpp": "".join(EIGHT)}, ""),
    ({"lib/a.cpp": "".join(EIGHT), "lib/b.cpp": EIGHT[0]}, "9 functions have a complexity above 15, more than 8"),
    ({"lib/a.cpp": "".join(EIGHT), "lib/b.cpp": EIGHT[0]}, "lib/b.cpp:1: f0 has a complexity of 16"),
    ({"include/hiway/a.hpp": "// A.\n" * 450}, ""),
    ({"include/hiway/a.hpp": "// A.\n" * 451}, "include/hiway/a.hpp: 451 lines, more than 450"),
    ({"include/hiway/a.hpp": LONG_HEAD + "\n" * 500}, ""),
    ({"include/hiway/a.hpp": "int a;\n" + LONG_HEAD + "\n" * 500}, "504 lines, more than 450"),
    ({"include/hiway/a.hpp": "// One proof: why?\n" + "\n" * 500}, "501 lines, more than 450"),
    ({"include/hiway/a.hpp": LONG_HEAD}, "its head asks for more lines than 450 and it has 3"),
    ({"stencil/a.hpp": "// " + "\u00e9" * 117 + "\n"}, ""),
    ({"stencil/a.hpp": "\n// " + "a" * 118 + "\n"}, "stencil/a.hpp:2: 121 columns, more than 120"),
    ({"lib/a.hpp": "struct A {\n" + fields(15) + "  static int s;\n" + methods(30) + "  A(A&) = delete;\n};\n"}, ""),
    ({"lib/a.hpp": "\nstruct A : B {\n" + fields(16) + "};\n"}, "lib/a.hpp:2: A has 16 fields, more than 15"),
    ({"lib/a.hpp": "struct A { int " + ", ".join(f"a{i}[2]" for i in range(16)) + "; };\n"}, "A has 16 fields"),
    ({"lib/a.hpp": "struct A { struct B {\n" + fields(16) + "  } b; };\n"}, "lib/a.hpp:1: B has 16 fields"),
    ({"lib/a.cpp": "struct P::Core {\n" + methods(31) + "};\n"}, "P::Core has 31 member functions, more than 30"),
    ({"lib/a.hpp": DECLARATIONS.replace("  int i_;", fields(6))}, ""),
    ({"lib/a.hpp": DECLARATIONS.replace("  int i_;", fields(7))}, "lib/a.hpp:3: Odd has 16 fields"),
    ({"lib/a.hpp": DECLARATIONS.replace("  ~Odd();", methods(22))}, ""),
    ({"lib/a.hpp": DECLARATIONS.replace("  ~Odd();", methods(23))}, "lib/a.hpp:3: Odd has 31 member functions"),
    ({"lib/a.hpp": "class Pipeline {\n" + methods(31) + "};\n"}, ""),
    ({"lib/a.hpp": "class Pipeline {\n" + methods(30) + "};\n"}, "Pipeline is within the limits: take it from"),
    ({"lib/a.hpp": "class Pipe {};\n", "tests/house/figures.py": ""}, "no class Pipeline: take it from EXEMPT_CLASSES"),
    ({"lib/a.cpp": "a(Movement::dma);\n" * 6 + "// Movement::dma\n", "lib/movement/b.cpp": "a(Movement::dma);\n" * 9}, ""),
    ({"lib/a.cpp": "a(Movement::dma);\n" * 6, "include/hiway/b.hpp": "\nMovement m = Movement::dma;\n"},
     "7 places name a movement, more than 6: include/hiway/b.hpp:2, lib/a.cpp:1"),
]

if __name__ == "__main__":
    planted.main(__doc__, check, PLANTED)
