"""Writes text that the generated files of all preloaded libraries (check, report, track) have in common."""


def next_functions(symbols):
    """Returns the text of struct Next, which has a pointer to the PMPI_* of each symbol, and of fill_next()."""
    return ["/// MPI's own functions.", "struct Next {", *[f"  decltype(&P{s}) {s};" for s in symbols], "};", '[[gnu::visibility("hidden")]] extern Next g_next;',
            '/// Fills it by find("PMPI_...").', "template <class Find>", "void fill_next(Next* next, Find find) {",
            *[f'  next->{s} = reinterpret_cast<decltype(&P{s})>(find("P{s}"));' for s in symbols], "}\n"]


def exports(prefix, function, symbol, names, fast=False):
    """Returns the text of MPI_* and PMPI_*, which call PREFIX_MPI_*(place, names...). PMPI_* does so only where its caller is
    Fortran's binding. `fast`: MPI_* calls PREFIX_MPI_*(names...) and PMPI_* calls any_MPI_*(names..., place)."""
    passed = ", ".join(["FROM", *([names] if names else [])])
    by_program, by_binding = f"{prefix}_{symbol}({passed})", f"{prefix}_{symbol}({passed})"
    if fast:
        by_program, by_binding = f"{prefix}_{symbol}({names})", f"any_{symbol}({names}, FROM)"
    return [f"EXPORT {function.signature(symbol)} {{ return {by_program}; }}",
            f"EXPORT {function.signature('P' + symbol)} {{",
            f"  return from_fortran(FROM) ? {by_binding} : g_next.{symbol}({names});", "}", ""]
