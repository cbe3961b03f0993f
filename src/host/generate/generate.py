#!/usr/bin/env python3
"""Writes what is derived from the host's mpi.h.

  generate.py api   --include DIR --cc CC --out host_api.h
  generate.py stubs --include DIR --cc CC --rules forward.txt --sources FOLDER... --host LIBRARY --out FOLDER

api: struct Api, a pointer to each of the host's functions.
stubs: stubs_forwarded.cc, stubs_pending.cc, function_table.cc and versions.cc for the shared library. Every function
that mpi.h declares is exactly one of
  owned      defined in the sources with FGMPI_OWN, FGMPI_OWN_MPIX or FGMPI_OWN_INTERNAL (src/mpi/own.h),
  forwarded  matched by a rule of forward.txt: the call goes to the host unchanged,
  pending    neither: the call fails with MPI_ERR_UNSUPPORTED_OPERATION and names itself.
Anything else (owned and forwarded, a rule that matches nothing, an unknown owned name) stops the build.
Files are rewritten only when their text changes.
"""

import argparse
import fnmatch
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field

# The functions that the host exports without declaring them in mpi.h; libmpichfort and libmpichcxx call
# them. Their prototypes are in host/internal.h.
INTERNAL_HEADER = "host/internal.h"


def fail(text):
    sys.exit(f"generate.py: error: {text}")


@dataclass
class Parameter:
    declaration: str  # with its name: "const int counts[]"
    type: str  # without it: "const int []"
    name: str


@dataclass
class Function:
    symbol: str  # "MPI_Send": the name a program calls
    result: str
    parameters: list[Parameter]
    variadic: bool = False

    @property
    def member(self):
        """Its name in struct Api: MPI_Send -> Send, MPIX_Yield -> X_Yield, MPII_Type_get_attr -> I_Type_get_attr."""
        prefix, rest = self.symbol.split("_", 1)
        return {"MPI": "", "MPIX": "X_", "MPII": "I_"}[prefix] + rest

    @property
    def profiled(self):
        return self.symbol.startswith(("MPI_", "MPIX_"))

    def signature(self, symbol):
        inside = ", ".join(p.declaration for p in self.parameters)
        if self.variadic:
            inside += ", ..."
        return f"{self.result} {symbol}({inside or 'void'})"


def parse_parameter(text, number):
    text = " ".join(text.split())
    suffix = ""
    match = re.search(r"((?:\s*\[[^\]]*\])+)$", text)
    if match:
        suffix, text = match.group(1).strip(), text[: match.start()]
    words = re.findall(r"[A-Za-z_]\w*|\*", text)
    type_words = [w for w in words if w not in ("const", "*", "struct", "enum")]
    named = len(type_words) >= 2 and words[-1] not in ("*", "const")
    if named and type_words[-1] in ("int", "long", "char", "short"):
        named = False  # "unsigned int" without a name
    base = text[: text.rindex(words[-1])].rstrip() if named else text
    name = words[-1] if named else f"argument{number}"
    space = "" if base.endswith("*") else " "
    return Parameter(f"{base}{space}{name}{suffix}", f"{base}{suffix}", name)


def split_parameters(text):
    if "(" in text:
        fail(f"a function pointer written out in a parameter list is not understood: {text}")
    return [part for part in (p.strip() for p in text.split(",")) if part and part != "void"]


def preprocessed(arguments):
    source = '#include <mpi.h>\n#include "%s"\n' % INTERNAL_HEADER
    src = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    command = [*arguments.cc.split(), "-E", "-P", "-x", "c", f"-I{arguments.include}", f"-I{src}", "-"]
    run = subprocess.run(command, input=source, capture_output=True, text=True)
    if run.returncode != 0:
        fail(f"{' '.join(command)}: {run.stderr.strip()}")
    return run.stdout


def parse_functions(text):
    """All functions by symbol. A prototype is one declaration up to ';', at file scope."""
    functions = {}
    pattern = re.compile(
        r"^([A-Za-z_][\w ]*[ *]+)((?:MPIX?|MPII)_\w+)\s*\(([^;{}]*)\)[^;(){}]*;", re.M
    )
    for match in pattern.finditer(text):
        result, symbol, inside = " ".join(match.group(1).split()), match.group(2), match.group(3)
        if result.startswith("typedef"):
            continue
        if re.match(r"MPI_Status_(c2f08|f082c|f082f|f2f08)$", symbol):
            continue  # declared by the host's header, defined in no library of it
        parts = split_parameters(inside)
        variadic = bool(parts) and parts[-1] == "..."
        if variadic:
            parts.pop()
        parameters = [parse_parameter(p, i) for i, p in enumerate(parts)]
        functions[symbol] = Function(symbol, result.replace("extern ", ""), parameters, variadic)
    if len(functions) < 400:
        fail(f"found only {len(functions)} functions in mpi.h")
    return functions


def write_if_changed(path, text):
    try:
        with open(path) as file:
            if file.read() == text:
                return
    except FileNotFoundError:
        pass
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


NOTE = "// Generated by src/host/generate/generate.py from the host's mpi.h. Do not edit.\n"


def generate_api(arguments):
    functions = parse_functions(preprocessed(arguments))
    lines = [
        NOTE + "#pragma once\n",
        "#include <mpi.h>\n",
        f'#include "{INTERNAL_HEADER}"\n',
        "namespace fgmpi::host {\n",
        "/// The host's functions; a member is nullptr when the host's library does not have it.",
        "struct Api {",
    ]
    for f in functions.values():
        lines.append(f"  decltype(&::{f.symbol}) {f.member} = nullptr;")
    lines += [
        "};\n",
        "/// Calls visit(member pointer, symbol) for each member.",
        "template <class F>",
        "void for_each_function(F&& visit) {",
    ]
    for f in functions.values():
        lines.append(f'  visit(&Api::{f.member}, "{f.symbol}");')
    lines += ["}\n", "}  // namespace fgmpi::host", ""]
    write_if_changed(arguments.out, "\n".join(lines))


@dataclass
class Rule:
    kind: str  # forward, early or instead
    pattern: str
    code: str  # the statement or expression behind the pattern
    where: str
    matched: list = field(default_factory=list)


def read_rules(path):
    rules = []
    with open(path) as file:
        for number, line in enumerate(file, 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            where = f"{path}:{number}"
            kind, pattern, code = (line.split(None, 2) + ["", ""])[:3]
            if kind not in ("forward", "early", "instead") or not pattern or (kind == "instead") > bool(code):
                fail(f"{where}: '{line}': allowed are the rules that the top of the file describes")
            rules.append(Rule(kind, pattern, code, where))
    return rules


def owned_names(folders):
    """symbol -> file of each FGMPI_OWN... in the sources."""
    prefixes = {"": "MPI_", "_MPIX": "MPIX_", "_INTERNAL": ""}
    owned = {}
    for folder in folders:
        for root, _, files in os.walk(folder):
            for name in sorted(files):
                if not name.endswith(".cc"):
                    continue
                path = os.path.join(root, name)
                with open(path) as file:
                    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", file.read(), flags=re.S)
                text = re.sub(r"^\s*#\s*define[^\n]*(\\\n[^\n]*)*", "", text, flags=re.M)
                for kind, function in re.findall(r"\bFGMPI_OWN(_MPIX|_INTERNAL)?\(\s*(\w+)\s*\)", text):
                    symbol = prefixes[kind] + function
                    if symbol in owned:
                        fail(f"{path}: {symbol} is owned already in {owned[symbol]}")
                    owned[symbol] = path
    return owned


def classify(functions, rules, owned):
    """symbol -> Rule of each forwarded function."""
    forwarded = {}
    for symbol, function in functions.items():
        # An exact name beats a pattern, so that one function of a family can differ.
        name = function.member
        matching = [r for r in rules if r.pattern == name] or [
            r for r in rules if fnmatch.fnmatchcase(name, r.pattern)
        ]
        if len(matching) > 1:
            fail(f"{matching[1].where}: {symbol} is matched by {matching[0].where} too")
        if matching:
            if symbol in owned:
                fail(f"{symbol} is owned in {owned[symbol]} and forwarded by {matching[0].where}")
            matching[0].matched.append(symbol)
            forwarded[symbol] = matching[0]
    for rule in rules:
        if not rule.matched:
            fail(f"{rule.where}: '{rule.pattern}' matches no function of mpi.h")
    return forwarded


def host_argument(parameter):
    """What the host gets: our communicators and sentinels mean nothing to it."""
    if parameter.type == "MPI_Comm":
        return f"stub::comm({parameter.name})"
    if parameter.type == "MPI_T_pvar_handle":
        return f"stub::pvar({parameter.name})"
    return parameter.name


def export(function, body):
    """The definition under the profiling name, and the weak alias under the plain one."""
    if not function.profiled:
        return f'extern "C" FGMPI_STUB {function.signature(function.symbol)} {body}\n'
    symbol = "P" + function.symbol
    alias = f'extern "C" FGMPI_WEAK({symbol}) decltype({symbol}) {function.symbol};'
    return f'extern "C" FGMPI_STUB {function.signature(symbol)} {body}\n{alias}\n'


def forwarded_stub(function, rule):
    if function.result not in ("int", "void") or function.variadic:
        fail(f"{rule.where}: {function.symbol} cannot be forwarded: allowed are results int and void")
    if rule.kind == "instead":
        return export(function, f"{{\n  return {rule.code};\n}}")
    arguments = "".join(f", {host_argument(p)}" for p in function.parameters)
    api = "api_uninitialised" if rule.kind == "early" else "api"
    before = f"  {rule.code}\n" if rule.code else ""
    return export(
        function,
        "{\n"
        f"{before}"
        f"  return stub::forward(fgmpi::host::{api}(), &Api::{function.member}, "
        f'"{function.symbol}"{arguments});\n'
        "}",
    )


def pending_stub(function):
    comm = next((p.name for p in function.parameters if p.type == "MPI_Comm"), "MPI_COMM_NULL")
    unused = "".join(f"  (void){p.name};\n" for p in function.parameters if p.name != comm)
    call = f'fgmpi::mpi::unsupported("{function.symbol}", {comm})'
    if function.result == "int":
        return export(function, f"{{\n{unused}  return {call};\n}}")
    nothing = "" if function.result == "void" else "  return {};\n"
    return export(function, f"{{\n{unused}  {call};\n{nothing}}}")


def generate_versions(arguments):
    """The host's MPII_Version_* texts, in the sizes that programs linked against the host expect. Only the ABI's
    version is told; how this library was built, fgmpi-info says."""
    run = subprocess.run(
        ["nm", "-D", "-S", "--defined-only", arguments.host], capture_output=True, text=True
    )
    found = re.findall(r"^\w+ (\w+) \w (MPII_Version_\w+)$", run.stdout, re.M)
    if not found:
        fail(f"{arguments.host}: found no MPII_Version_* symbols: {run.stderr.strip() or 'nm lists none'}")
    lines = [NOTE + "#include <mpi.h>\n"]
    for size, symbol in sorted(found, key=lambda f: f[1]):
        text = "MPICH_VERSION" if symbol == "MPII_Version_string" else '""'
        lines.append(f'extern "C" __attribute__((visibility("default"))) const char {symbol}[{int(size, 16)}];')
        lines.append(f"const char {symbol}[{int(size, 16)}] = {text};")
    write_if_changed(f"{arguments.out}/versions.cc", "\n".join(lines) + "\n")


def generate_stubs(arguments):
    generate_versions(arguments)
    functions = parse_functions(preprocessed(arguments))
    rules = read_rules(arguments.rules)
    owned = owned_names(arguments.sources)
    # Extensions that the host does not have (MPIX_Yield) are nobody else's business.
    for symbol, path in owned.items():
        if symbol not in functions and not symbol.startswith("MPIX_"):
            fail(f"{path}: {symbol} is owned, but the host's mpi.h does not have it")
    forwarded = classify(functions, rules, owned)

    def unit(bodies):
        return NOTE + '#include "host/stub_support.h"\n\n' + "using fgmpi::host::Api;\n\n" + "\n".join(bodies)

    pending = [f for s, f in functions.items() if s not in owned and s not in forwarded]
    write_if_changed(
        f"{arguments.out}/stubs_forwarded.cc",
        unit(forwarded_stub(functions[s], r) for s, r in forwarded.items()),
    )
    write_if_changed(f"{arguments.out}/stubs_pending.cc", unit(map(pending_stub, pending)))

    rows = []
    for symbol in sorted(functions):
        kind = "kOwned" if symbol in owned else "kForwarded" if symbol in forwarded else "kPending"
        rows.append(f'    {{"{symbol}", fgmpi_function::{kind}}},')
    rows.append("    {nullptr, fgmpi_function::kPending},")
    write_if_changed(
        f"{arguments.out}/function_table.cc",
        NOTE + '#include "host/function_table.h"\n\n'
        "const fgmpi_function fgmpi_functions[] = {\n" + "\n".join(rows) + "\n};\n",
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("api", "stubs"))
    parser.add_argument("--include", required=True, help="folder of the host's mpi.h")
    parser.add_argument("--cc", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--rules")
    parser.add_argument("--host", help="the host's library")
    parser.add_argument("--sources", nargs="*", default=[])
    arguments = parser.parse_args()
    (generate_api if arguments.what == "api" else generate_stubs)(arguments)


main()
