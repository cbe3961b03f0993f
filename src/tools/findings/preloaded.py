"""Text that the generated files of all preloaded libraries (tools/check, report, track) have in common."""


def next_functions(symbols):
    """struct Next, a pointer to PMPI_* of each, and fill_next()."""
    return ["/// MPI's own functions.", "struct Next {", *[f"  decltype(&P{s}) {s};" for s in symbols], "};", "extern Next g_next;",
            '/// Fills it by find("PMPI_...").', "template <class Find>", "void fill_next(Next* next, Find find) {",
            *[f'  next->{s} = reinterpret_cast<decltype(&P{s})>(find("P{s}"));' for s in symbols], "}\n"]


def exports(prefix, function, symbol, names):
    """MPI_* and PMPI_*, which call PREFIX_MPI_*(place, names...); those by PMPI_* are watched if Fortran's binding calls."""
    passed = ", ".join(["FROM", *([names] if names else [])])
    return [f"EXPORT {function.signature(symbol)} {{ return {prefix}_{symbol}({passed}); }}",
            f"EXPORT {function.signature('P' + symbol)} {{",
            f"  return from_fortran(FROM) ? {prefix}_{symbol}({passed}) : g_next.{symbol}({names});", "}", ""]
