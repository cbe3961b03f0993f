"""Reports of ranks become one: the outcome of a phase of a test (setup, call, teardown) on all
ranks, and its text."""

from _pytest._code.code import ExceptionChainRepr, ReprEntryNative, ReprFileLocation, ReprTraceback

from .words import joined, joined_text, shortened, the_ranks

# So many groups of tracebacks are shown whole.
_WHOLE = 5
_STRICT = "[XPASS(strict)]"


def kind(report):
    """failed, skipped, xfailed, xpassed, xpassed-strict or passed."""
    if hasattr(report, "wasxfail"):
        return "xfailed" if report.outcome == "skipped" else "xpassed"
    if report.outcome == "failed" and isinstance(report.longrepr, str) and report.longrepr.startswith(_STRICT):
        return "xpassed-strict"
    return report.outcome


def outcome(kinds):
    """The kind of a phase from those of the ranks. A rank that failed decides. A test that was
    expected to fail has done so when it has on one rank. A test is skipped when all ranks skip it;
    ranks that do not skip it decide otherwise."""
    for first in ("failed", "xfailed", "xpassed-strict", "xpassed", "passed"):
        if first in kinds:
            return first
    return "skipped"


def place(report):
    """What tracebacks that are shown together have in common: where they lead, and the type of the
    exception."""
    representation = report.longrepr
    if isinstance(representation, ExceptionChainRepr):
        lines = [(entry.reprfileloc.path, entry.reprfileloc.lineno, entry.reprfileloc.message.split(":")[0])
                 for traceback, _, _ in representation.chain for entry in traceback.reprentries
                 if getattr(entry, "reprfileloc", None)]
        return str(lines)
    return str(representation)


def message(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else str(report.longrepr)
    return shortened(text.strip().split("\n")[0], 200)


def heading(text):
    """An element of a chain of exceptions that is only a line."""
    return ReprTraceback([ReprEntryNative([line + "\n" for line in text.split("\n")])], None, "native"), None, None


def failures_text(reports, size, extra=""):
    """One representation of the failures of ranks: tracebacks of the same place once, with the
    ranks and their messages. `extra` is what there is to say about other ranks. Returns an
    ExceptionChainRepr, which pytest-xdist can send."""
    groups = {}
    for rank in sorted(reports):
        groups.setdefault(place(reports[rank]), []).append(rank)
    chain, crash = [], None
    for number, ranks in enumerate(sorted(groups.values())):
        first = reports[ranks[0]]
        title = "%s of %d: %s" % (the_ranks(ranks), size, message(first))
        if number == 0:
            path, line = (first.longrepr.reprcrash.path, first.longrepr.reprcrash.lineno) if getattr(
                first.longrepr, "reprcrash", None) else ("", 0)
            crash = ReprFileLocation(path, line, title)
        if number >= _WHOLE:
            chain.append(heading(title))
            continue
        text = "---- %s of %d failed%s ----" % (the_ranks(ranks), size, " in " + first.when if first.when != "call" else "")
        messages = joined({rank: message(reports[rank]) for rank in ranks})
        if len(messages) > 1:
            text += "\nshown is %s; the others: " % the_ranks(ranks[:1]) + "".join(
                "\n[%s] %s" % (the_ranks(others).split()[1], line) for others, line in messages[1:11])
            text += "\n..." if len(messages) > 11 else ""
        chain.append(heading(text))
        if isinstance(first.longrepr, ExceptionChainRepr):
            chain += first.longrepr.chain
        else:
            chain.append(heading(str(first.longrepr)))
    if extra:
        chain.append(heading(extra))
    if crash is None:
        crash = ReprFileLocation("", 0, extra.split("\n")[0].strip("- "))
    chain[-1] = (chain[-1][0], crash, chain[-1][2])
    return ExceptionChainRepr(chain)


def sections(reports):
    """The captured output of ranks, equal texts once."""
    by_name = {}
    for rank, report in reports.items():
        for name, text in report.sections:
            by_name.setdefault(name, {})[rank] = text
    return [(name, joined_text(texts)) for name, texts in by_name.items()]


def skip_reason(report):
    if isinstance(report.longrepr, tuple):
        return report.longrepr[2]
    return str(report.longrepr)
