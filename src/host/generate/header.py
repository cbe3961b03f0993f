"""Reads the host's mpi.h (and host/internal.h): the functions that it declares, with their parameters."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass

# The header with the functions that the host exports without declaring them in mpi.h. libmpichfort and libmpichcxx call them.
INTERNAL_HEADER = "host/internal.h"


def fail(text):
    sys.exit(f"mpi.h: error: {text}")


@dataclass
class Parameter:
    declaration: str  # with the parameter's name: "const int counts[]"
    type: str  # without the name: "const int []"
    name: str


@dataclass
class Function:
    symbol: str  # "MPI_Send": the name a program calls
    result: str
    parameters: list[Parameter]
    variadic: bool = False
    declared: bool = True  # in mpi.h; else only calls.table has it

    @property
    def member(self):
        """The function's name in struct Api: MPI_Send -> Send, MPIX_Yield -> X_Yield, MPII_Type_get_attr -> I_Type_get_attr."""
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


def preprocessed(arguments, more=()):
    """Returns mpi.h, host/internal.h and the headers `more`, whose paths are given, after the preprocessor."""
    source = '#include <mpi.h>\n#include "%s"\n' % INTERNAL_HEADER + "".join(f'#include "{path}"\n' for path in more)
    src = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    command = [*arguments.cc.split(), "-E", "-P", "-x", "c", f"-I{arguments.include}", f"-I{src}", "-"]
    run = subprocess.run(command, input=source, capture_output=True, text=True)
    if run.returncode != 0:
        fail(f"{' '.join(command)}: {run.stderr.strip()}")
    return run.stdout


def parse_functions(text):
    """Returns all functions by symbol. A prototype is one declaration up to ';', at file scope."""
    functions = {}
    pattern = re.compile(
        r"^([A-Za-z_][\w ]*[ *]+)((?:MPIX?|MPII)_\w+)\s*\(([^;{}]*)\)[^;(){}]*;", re.M
    )
    for match in pattern.finditer(text):
        result, symbol, inside = " ".join(match.group(1).split()), match.group(2), match.group(3)
        if result.startswith("typedef"):
            continue
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
