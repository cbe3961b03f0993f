#!/usr/bin/env python3
"""Makes random loops and compiles them by mpicc -check with and without its plugin: a checker must receive the same accesses.

  loops.py BIN SOURCES [--seed N] [--loops N] [--rounds N] [--option -O2 ...]

SOURCES: the folder that contains gcc/access/view.h. The programs are linked with a checker of their own (loops_checker.cc),
which owns some bytes, at other addresses in each round, and records each access to them. Without the plugin every access calls
the checker, so that build has the expected accesses. The build with the plugin must also call the checker less often: otherwise
the test would show nothing.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TYPES = ["char", "short", "int", "double", "struct pair"]
HEAD = """#include <stddef.h>
struct pair { long first; int second; };
enum { kBytes = 8192, kBefore = 150 };
extern char arena[6][kBytes];
extern int places[64];
#define LOOP __attribute__((noinline, noclone))
"""


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.statics = []

    def pick(self, *those):
        return self.random.choice(those)

    def array(self, k, j, name):
        """Returns the declaration of a local array, its name and type, and the text before its indices, which are -150 to 299."""
        kind = self.pick("static", "pointer", "pointer", "argument")
        type_ = self.pick(*TYPES)
        if kind == "static":
            self.statics.append(f"static {type_} s{k}_{j}[450];")
            return "", f"s{k}_{j}", type_, "kBefore + "
        if kind == "argument":
            return f"  {type_}* {name} = ({type_}*)at[{j}];\n", name, type_, ""
        return f"  {type_}* const {name} = ({type_}*)arena[{j}] + kBefore;\n", name, type_, ""

    def index(self, variables):
        i = self.pick(*variables)
        form = self.random.randrange(9)
        if form < 3:
            return f"{i} + {self.random.randrange(4)}"
        if form == 3:
            return f"{self.random.randrange(1, 4)} * {i} + {self.random.randrange(3)}"
        if form == 4:
            return f"63 - {i}"
        if form == 5:
            return f"places[{i} & 63]"
        if form == 6:
            return f"{i} * step"
        if form == 7 and len(variables) > 1:
            return f"{variables[0]} * 5 + {variables[1]}"
        return f"({i} & {self.pick(3, 7, 15)})"

    def statement(self, arrays, variables):
        (x, xt, xb), (y, yt, yb) = self.pick(*arrays), self.pick(*arrays)
        left, right = f"{x}[{xb}{self.index(variables)}]", f"{y}[{yb}{self.index(variables)}]"
        structs = ("struct pair" == xt) + ("struct pair" == yt)
        if structs == 2 and self.random.random() < 0.6:
            text = f"{left} = {right};"
        else:
            if xt == "struct pair":
                left += self.pick(".first", ".second")
            if yt == "struct pair":
                right += self.pick(".first", ".second")
            text = f"{left} {self.pick('=', '+=')} {right} + 1;"
        form = self.random.randrange(8)
        if form == 0:
            text = f"if ({variables[-1]} % 3 == 1) {text}"
        elif form == 1:
            text = f"sum += (long){right};" if structs != 2 and yt != "struct pair" else text
        elif form == 2 and len(variables) == 1:
            text = f"{text} if (sum > 20 && places[{variables[0]} & 63] == 5) break;"
        return text

    def head(self, i, outer):
        type_ = self.pick("int", "long", "unsigned", "size_t")
        bound = self.pick("n", "n", "12", "40" if not outer else "9")
        if outer and self.random.random() < 0.2:
            bound = outer
        if outer and self.random.random() < 0.5:
            bound = "m"
        form = self.random.randrange(6)
        if form == 0:
            return f"for (long {i} = (long){bound} - 1; {i} >= 0; --{i})"
        if form == 1:
            return f"for ({type_} {i} = 0; {i} < ({type_}){bound}; {i} += {self.random.randrange(2, 5)})"
        if form == 2:
            return f"for (long {i} = 0; {i} != (long){bound}; ++{i})"
        return f"for ({type_} {i} = 0; {i} < ({type_}){bound}; ++{i})"

    def loop(self, k):
        body, arrays = "", []
        for j in range(self.random.randrange(1, 4)):
            declaration, name, type_, before = self.array(k, j, f"x{j}")
            body += declaration
            arrays.append((name, type_, before))
        depth = self.pick(1, 1, 2, 2, 3)
        variables, close = [], ""
        body += "  long sum = 0;\n"
        for level in range(depth):
            body += "  " * (level + 1) + self.head("ijk"[level], variables[-1] if variables else None) + " {\n"
            variables.append("ijk"[level])
            for _ in range(self.random.randrange(3) if level < depth - 1 else self.random.randrange(1, 5)):
                body += "  " * (level + 2) + self.statement(arrays, list(variables)) + "\n"
            close = "  " * (level + 1) + "}\n" + close
        return f"LOOP long loop{k}(char** at, int n, int m, long step) {{\n{body}{close}  return sum + n + m + step + (at == 0);\n}}\n"

    def program(self, count):
        loops = [self.loop(k) for k in range(count)]
        table = ", ".join(f"loop{k}" for k in range(count))
        areas = ", ".join(f"{{(char*){name}, sizeof {name}}}" for name in
                          [s.split()[-1].split("[")[0] for s in self.statics] + [f"arena[{i}]" for i in range(6)])
        return (HEAD + "\n".join(self.statics) + "\n" + "\n".join(loops) +
                f"\nlong (*const loops[])(char**, int, int, long) = {{{table}}};\nconst int loop_count = {count};\n"
                f"const struct {{ char* at; size_t bytes; }} areas[] = {{{areas}}};\nconst int area_count = {len(self.statics) + 6};\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("sources")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--loops", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--option", action="append")
    arguments = parser.parse_args()
    bin_, failed = os.path.abspath(arguments.bin), 0
    if not os.path.exists(f"{bin_}/../lib/fgmpi/fgmpi_check.so"):
        print("the plugin was not built")
        return 77
    for option in arguments.option or ["-O1", "-O2", "-O3"]:
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/loops.c", "w") as file:
                file.write(Maker(arguments.seed).program(arguments.loops))
            checker = ["c++", "-std=c++20", "-O1", "-w", f"-I{arguments.sources}", "-c", f"{HERE}/loops_checker.cc", "-o", f"{folder}/checker.o"]
            subprocess.run(checker, check=True)
            said = {}
            for way in ("without", "with"):
                command = subprocess.run([f"{bin_}/mpicc", "-check", "-show", "-c", "loops.c"], capture_output=True, text=True, check=True)
                words = [w for w in command.stdout.split() if w not in ("-c", "loops.c") and (way == "with" or not w.startswith("-fplugin="))]
                subprocess.run([*words, "-w", "-fwrapv" if arguments.seed % 2 else "-w", option, "-c", f"{folder}/loops.c", "-o", f"{folder}/{way}.o"], check=True)
                subprocess.run([f"{bin_}/mpicxx", "-check", "-rdynamic", f"{folder}/{way}.o", f"{folder}/checker.o", "-o", f"{folder}/{way}"], check=True)
                done = subprocess.run([f"{folder}/{way}", str(arguments.rounds)], capture_output=True, text=True, check=True)
                said[way] = done.stdout.splitlines()
            pairs = list(zip(said["with"][:-1], said["without"][:-1]))
            different = [pair for pair in pairs if pair[0] != pair[1]]
            calls = {way: int(lines[-1].split()[1]) for way, lines in said.items()}
            hits = sum(int(line.split()[2]) for line in said["without"][:-1])
            print(f"{option}: {len(pairs)} runs of loops, {hits} accesses to what is owned; {len(different)} runs differ; "
                  f"calls: {calls['with']} with the plugin, {calls['without']} without")
            for pair in different[:5]:
                print("  with:", pair[0], " without:", pair[1])
            failed += len(different) > 0 or len(pairs) != arguments.loops * arguments.rounds or hits == 0 or calls["with"] >= calls["without"]
    return int(failed > 0)


sys.exit(main())
