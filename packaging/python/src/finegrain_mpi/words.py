"""Texts about ranks: lists of numbers, and texts of several ranks of which equal ones are joined."""

import re

_PREFIX = re.compile(r"^\[(\d+)\] ?")


def ranks_text(ranks):
    """[0, 1, 2, 5] is "0-2,5"."""
    parts = []
    for rank in sorted(ranks):
        if parts and parts[-1][1] == rank - 1:
            parts[-1][1] = rank
        else:
            parts.append([rank, rank])
    return ",".join(str(a) if a == b else "%d-%d" % (a, b) for a, b in parts)


def the_ranks(ranks):
    """[3] is "rank 3", [0, 1] is "ranks 0-1"."""
    return ("rank " if len(ranks) == 1 else "ranks ") + ranks_text(ranks)


def joined(texts):
    """Groups a dict from ranks to texts: [(ranks, text)], in the order of the first rank of each."""
    groups = {}
    for rank in sorted(texts):
        groups.setdefault(texts[rank], []).append(rank)
    return [(ranks, text) for text, ranks in groups.items()]


def joined_text(texts):
    """Output of ranks: "[0-2] line" for each line; ranks with equal texts are written once."""
    lines = []
    for ranks, text in joined({rank: text for rank, text in texts.items() if text}):
        prefix = "[%s] " % ranks_text(ranks)
        lines += [prefix + line for line in text.splitlines()]
    return "\n".join(lines) + "\n" if lines else ""


def by_rank(lines):
    """Sorts lines that mpiexec -prepend-rank has marked. Returns the texts of the ranks, and other
    lines."""
    texts, others = {}, []
    for line in lines:
        match = _PREFIX.match(line)
        if match:
            texts.setdefault(int(match.group(1)), []).append(line[match.end():])
        else:
            others.append(line)
    return {rank: "\n".join(found) + "\n" for rank, found in texts.items()}, others


def shortened(text, limit):
    """Leaves out the middle of a text of more than `limit` characters, and says so."""
    if len(text) <= limit:
        return text
    left_out = len(text) - limit
    return "%s\n... %d characters are left out ...\n%s" % (text[:limit // 2], left_out, text[-(limit // 2):])
