#!/usr/bin/env python3
"""Writes the manual pages: generate.py SOURCES FOLDER

Pages of section 1 are those beside this file. Section 3 is made from the comments in include/fgmpi.h, one page for each
comment with declarations behind it; section 7 from docs/settings.md and docs/hazards.md. FOLDER gets man1, man3, man7 and a
list of what was written."""
import pathlib
import re
import shutil
import sys
import textwrap

DATE = "November 23, 2026"


def escape(text):
    """Text of a line of its own: no backslash, no macro at its beginning."""
    text = text.replace("\\", "\\e")
    return "\\&" + text if text[:1] in ".'" else text


def header(name, section, about):
    return [f".Dd {DATE}", f".Dt {name.upper()} {section}", ".Os", ".Sh NAME",
            *[f".Nm {n}" + (" ," if i < len(about[0]) - 1 else "") for i, n in enumerate(about[0])],
            f".Nd {about[1]}"]


def sentences(text):
    """Sentences begin lines, as roff wants it, and lines are short."""
    text = re.sub(r"\b([a-z]\w*)\(\)", r"\1", text.replace("`", ""))
    parts = re.split(r"(?<=[.;:!?])\s+(?=[A-Z`*(])", " ".join(text.split()))
    return [escape(line) for part in parts for line in textwrap.wrap(part, 78, break_long_words=False, break_on_hyphens=False)]


# ---- Section 3 -------------------------------------------------------------------------------------------------------
def declarations(header_text):
    """(comment, [function declarations]) in the order of the file. Types and constants belong to the next functions."""
    found, comment, functions, types = [], "", [], []
    body = header_text[header_text.index('extern "C" {\n#endif') + 19:header_text.rindex("#ifdef __cplusplus")]
    for match in re.finditer(r"/\*.*?\*/|^[^/\n#][^;{]*\{.*?\}[^;]*;|^#define MPIX\S+ [^\n]*|^#define MAP\S+ [^\n]*|^[A-Za-z][^;{}]*;",
                             body, re.S | re.M):
        text = match.group()
        if text.startswith("/*"):
            if functions:
                found.append((comment, types, functions))
                comment, types, functions = "", [], []
            lines = [re.sub(r"^\s*/?\*+/?", "", line).replace("*/", "") for line in text.splitlines()]
            comment = "\n".join(filter(None, [comment, "\n".join(lines)]))
        elif re.match(r"(?:const )?\w+[ *]+\w+\(", text) and not text.startswith("typedef"):
            functions.append(" ".join(text.split()))
        else:
            types.append(text)
    if functions:
        found.append((comment, types, functions))
    return found


def section3(sources, folder):
    written = []
    for comment, types, functions in declarations((sources / "include/fgmpi.h").read_text()):
        names = [re.match(r"(.*?)(\w+)\((.*)\);", f) for f in functions]
        first = names[0].group(2)
        about = re.split(r"(?<=[.:])\s", " ".join(comment.split()))[0].rstrip(".:")
        about = re.sub(r"\s*\(.*", "", about)
        about = "extension of Finegrain MPI" if len(about) > 90 or not about else about[0].lower() + about[1:]
        page = header(first, 3, ([n.group(2) for n in names], about.replace("*", "")))
        page += [".Sh SYNOPSIS", ".In fgmpi.h"]
        for kind, name, arguments in (n.groups() for n in names):
            page += [f".Ft {kind.strip()}", f".Fo {name}"]
            page += [f'.Fa "{a.strip()}"' for a in arguments.split(",")]
            page.append(".Fc")
        page.append(".Sh DESCRIPTION")
        for paragraph in re.split(r"\n\s*\n", comment):
            if page[-1] != ".Sh DESCRIPTION":
                page.append(".Pp")
            page += sentences(paragraph)
        if types:
            page += [".Bd -literal"] + [escape(line) for text in types for line in text.splitlines()] + [".Ed"]
        page += [".Sh RETURN VALUES", "As MPI functions:", ".Dv MPI_SUCCESS ,", "or an error code, after the error handler.",
                 ".Sh SEE ALSO", ".Xr mpiexec 1 ,", ".Xr fgmpi-hazards 7"]
        written.append(f"man3/{first}.3")
        (folder / written[-1]).write_text("\n".join(page) + "\n")
        for other in (n.group(2) for n in names[1:]):
            written.append(f"man3/{other}.3")
            (folder / written[-1]).write_text(f".so man3/{first}.3\n")
    return written


# ---- Section 7 -------------------------------------------------------------------------------------------------------
def inline(text):
    """Markdown's emphasis, code and links as plain words and quotes."""
    text = re.sub(r"\[([^\]]*)\]\(([^)]*)\)", r"\1", text)
    return re.sub(r"\*\*(.*?)\*\*", r"\1", text).replace("`", "").replace("\\|", "|")


def table(lines):
    rows = [[inline(c.strip()) for c in re.split(r"(?<!\\)\|", line.strip().strip("|"))] for line in lines]
    head, rows = rows[0], rows[2:]
    out = [".Bl -tag -width Ds"]
    for row in rows:
        out.append(".It " + (f"Ev {row[0]}" if row[0].startswith("FGMPI_") and " " not in row[0] else f"Sy {quote(row[0])}"))
        for title, cell in zip(head[1:], row[1:]):
            if cell:
                out += sentences((title[0].upper() + title[1:] + ": " if title else "") + cell.rstrip(".") + ".") + [".br"]
        if out[-1] == ".br":
            out.pop()
    return out + [".El"]


def quote(text):
    return '"' + text.replace("\\", "\\e").replace('"', "\\(dq") + '"'


def section7(markdown, folder, name, about):
    page = header(name, 7, ([name], about))
    blocks = re.split(r"\n\s*\n", re.sub(r"<!--.*?-->", "", re.sub(r"\n(#+ [^\n]*)\n", r"\n\n\1\n\n", markdown.read_text()), flags=re.S))
    page.append(".Sh DESCRIPTION")
    for block in (b.strip("\n") for b in blocks[1:] if b.strip()):
        lines = block.splitlines()
        fresh = page[-1].startswith(".Sh")
        if lines[0].startswith("#"):
            page.append(f".Sh {inline(lines[0].lstrip('# ')).upper()}")
        elif any(line.startswith("|") for line in lines):
            before = [line for line in lines if not line.startswith("|")]
            if before:
                page += ([] if fresh else [".Pp"]) + sentences(inline(" ".join(before)))
            page += table([line for line in lines if line.startswith("|")])
        elif lines[0].startswith("    "):
            page += [".Bd -literal"] + [escape(line[4:]) for line in lines] + [".Ed"]
        elif lines[0].startswith("- "):
            page.append(".Bl -bullet")
            for item in re.split(r"\n- ", "\n" + block)[1:]:
                page += [".It"] + sentences(inline(item))
            page.append(".El")
        else:
            page += ([] if fresh else [".Pp"]) + sentences(inline(block))
    page += [".Sh SEE ALSO", ".Xr fgmpi-info 1 ,", ".Xr mpiexec 1"]
    (folder / f"man7/{name}.7").write_text("\n".join(page) + "\n")
    return [f"man7/{name}.7"]


def main():
    sources, folder = map(pathlib.Path, sys.argv[1:3])
    shutil.rmtree(folder, ignore_errors=True)
    for section in "137":
        (folder / f"man{section}").mkdir(parents=True)
    written = []
    for page in sorted((sources / "docs/man").glob("*.1")):
        shutil.copy(page, folder / "man1")
        written.append(f"man1/{page.name}")
    for alias, of in (("mpirun", "mpiexec"), ("mpicxx", "mpicc"), ("mpic++", "mpicc"), ("mpicc_abi", "mpicc"),
                      ("mpicxx_abi", "mpicc"), ("mpifort", "mpicc"), ("mpif77", "mpicc"), ("mpif90", "mpicc")):
        (folder / f"man1/{alias}.1").write_text(f".so man1/{of}.1\n")
    written += section3(sources, folder)
    written += section7(sources / "docs/settings.md", folder, "fgmpi-settings", "environment variables of Finegrain MPI")
    written += section7(sources / "docs/hazards.md", folder, "fgmpi-hazards", "what ranks of one process still share")
    (folder / "pages").write_text("\n".join(written) + "\n")


main()
