"""The suite's page: one HTML file with tables and plots (SVG), which loads nothing else."""
import html
import math
import re

STYLE = """
:root { --ground: #fff; --text: #1c1e21; --faint: #667; --line: #d5d8de; --c0: #1f6fb4; --c1: #c8511b; --c2: #2b8a3e; --c3: #7b4fb3; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #15171a; --text: #e6e8ea; --faint: #9aa2ad; --line: #343940; --c0: #6db3f2; --c1: #f09a6a; --c2: #74c788;
          --c3: #b99af0; } }
body { background: var(--ground); color: var(--text); font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 70em;
       padding: 0 1em; }
h2 { margin-top: 2em; } code, td.n { font-variant-numeric: tabular-nums; } .faint { color: var(--faint); font-size: 13px; }
table { border-collapse: collapse; margin: .6em 0; } th, td { border-bottom: 1px solid var(--line); padding: .15em .8em .15em 0;
       text-align: left; vertical-align: top; } th.n, td.n { text-align: right; }
.wide { overflow-x: auto; } svg { max-width: 100%; height: auto; } svg text { fill: var(--text); font: 12px system-ui, sans-serif; }
.axis { stroke: var(--line); } .one { stroke: var(--faint); stroke-dasharray: 4 3; }
"""
COLORS = ["var(--c0)", "var(--c1)", "var(--c2)", "var(--c3)"]


def escaped(text):
    return html.escape(str(text))


def number(value):
    """Returns a value with three significant digits, without an exponent."""
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"


def table(head, rows, numbers_from=1):
    """A table; columns from `numbers_from` on hold numbers."""
    def line(cells, tag):
        kinds = [' class="n"' if i >= numbers_from else "" for i in range(len(cells))]
        return "<tr>" + "".join(f"<{tag}{kind}>{cell}</{tag}>" for kind, cell in zip(kinds, cells)) + "</tr>"
    return ('<div class="wide"><table>' + (line(head, "th") if head else "") + "".join(line(row, "td") for row in rows) +
            "</table></div>")


def pairs(rows):
    return table([], [[escaped(name), "<br>".join(escaped(line) for line in (value if isinstance(value, list) else [value]))]
                      for name, value in rows], numbers_from=9)


def ticks(low, high):
    """Returns the powers of ten, or of two where these are few, between two positive numbers."""
    base = 10 if high / low > 50 else 2
    first, last = math.floor(math.log(low, base)), math.ceil(math.log(high, base))
    return [base ** i for i in range(first, last + 1)]


class Scale:
    """Maps values to coordinates by their logarithms."""

    def __init__(self, values, begin, end):
        self.marks = ticks(min(values), max(values) if max(values) > min(values) else min(values) * 2)
        self.begin, self.end = begin, end

    def at(self, value):
        low, high = math.log(self.marks[0]), math.log(self.marks[-1])
        return self.begin + (math.log(value) - low) / (high - low) * (self.end - self.begin)


def legend(names, x, y):
    return "".join(f'<rect x="{x}" y="{y + 18 * i}" width="11" height="11" fill="{COLORS[i % 4]}"/>'
                   f'<text x="{x + 17}" y="{y + 18 * i + 10}">{escaped(name)}</text>' for i, name in enumerate(names))


def svg(width, height, body, what):
    return (f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="{escaped(what)}">'
            f"{body}</svg>")


def ratio_plot(measurement):
    """Bars: how many times better each row is beside each other library. "" without such ratios."""
    bars = [(row["name"], f"{ratio['of']} beside {ratio['beside']}", ratio["times_better"])
            for row in measurement["rows"] for ratio in row["ratios"]]
    if not bars:
        return ""
    series = list(dict.fromkeys(name for _, name, _ in bars))
    rows = list(dict.fromkeys(name for name, _, _ in bars))
    left, right, step = 290, 880, 9 * len(series) + 7
    scale = Scale([value for _, _, value in bars] + [1], left, right)
    top = 18 * len(series) + 14
    bottom = top + step * len(rows)
    body = legend(series, left, 4)
    for mark in scale.marks:
        x = scale.at(mark)
        kind = "one" if mark == 1 else "axis"
        body += f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}"/>'
        body += f'<text x="{x:.1f}" y="{bottom + 15}" text-anchor="middle">{number(mark)}</text>'
    for i, row in enumerate(rows):
        body += f'<text x="{left - 8}" y="{top + step * i + step / 2 + 3:.1f}" text-anchor="end">{escaped(row[:44])}</text>'
    for name, what, value in bars:
        y = top + step * rows.index(name) + 3 + 9 * series.index(what)
        x, one = scale.at(value), scale.at(1)
        body += (f'<rect x="{min(x, one):.1f}" y="{y}" width="{abs(x - one):.1f}" height="8" '
                 f'fill="{COLORS[series.index(what) % 4]}"><title>{escaped(name)}: {number(value)}</title></rect>')
    title = '<p class="faint">Times better than the other library (above 1: ours is better; the axis is logarithmic)</p>'
    return title + svg(900, bottom + 24, body, f"{measurement['title']}: ratios")


BYTES = re.compile(r"(.*), (\d+) (B|KiB|MiB)$")
FACTOR = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}


def curves(measurement):
    """Returns {quantity: {column: [(bytes, median)]}} of rows named `quantity, N KiB`, with their units."""
    found, units = {}, {}
    for row in measurement["rows"]:
        parts = BYTES.match(row["name"])
        if not parts:
            continue
        units[parts.group(1)] = row["unit"]
        for label, median in row["medians"].items():
            if median > 0:
                point = (int(parts.group(2)) * FACTOR[parts.group(3)], median)
                found.setdefault(parts.group(1), {}).setdefault(label, []).append(point)
    return found, units


def size_plot(name, unit, lines):
    """Curves over message sizes, both axes logarithmic."""
    left, right, top = 70, 640, 12
    bottom = 300
    across = Scale([x for points in lines.values() for x, _ in points], left, right)
    up = Scale([y for points in lines.values() for _, y in points], bottom, top)
    body = legend(lines, right + 20, top)
    for mark in up.marks:
        body += (f'<line class="axis" x1="{left}" x2="{right}" y1="{up.at(mark):.1f}" y2="{up.at(mark):.1f}"/>'
                 f'<text x="{left - 6}" y="{up.at(mark) + 4:.1f}" text-anchor="end">{number(mark)}</text>')
    sizes = sorted({x for points in lines.values() for x, _ in points})
    for x in sizes[:: max(1, (len(sizes) + 5) // 6)]:
        label = f"{x >> 20} MiB" if x >= 1 << 20 else f"{x >> 10} KiB" if x >= 1024 else f"{x} B"
        body += f'<text x="{across.at(x):.1f}" y="{bottom + 17}" text-anchor="middle">{label}</text>'
    for i, points in enumerate(lines.values()):
        path = " ".join(f"{across.at(x):.1f},{up.at(y):.1f}" for x, y in sorted(points))
        body += f'<polyline points="{path}" fill="none" stroke="{COLORS[i % 4]}" stroke-width="2"/>'
        body += "".join(f'<circle cx="{across.at(x):.1f}" cy="{up.at(y):.1f}" r="3" fill="{COLORS[i % 4]}"/>' for x, y in points)
    return f'<p class="faint">{escaped(name)}, {escaped(unit)}</p>' + svg(900, bottom + 26, body, name)


def plots(measurement):
    if measurement["plot"] != "sizes":
        return ratio_plot(measurement)
    found, units = curves(measurement)
    return "".join(size_plot(name, units[name], lines) for name, lines in found.items()) + ratio_plot(measurement)


def cell(row, label):
    """Returns a median, with the least and the most of the turns."""
    values = row["values"].get(label)
    if not values:
        return "-"
    spread = f' <span class="faint">{number(min(values))} to {number(max(values))}</span>' if len(values) > 1 else ""
    return number(row["medians"][label]) + spread


def section(measurement):
    labels = [column["label"] for column in measurement["columns"]]
    beside = list(dict.fromkeys((ratio["of"], ratio["beside"]) for row in measurement["rows"] for ratio in row["ratios"]))
    head = ["", "unit", *map(escaped, labels), *(f"{escaped(mine)} / {escaped(other)}: times better" for mine, other in beside)]
    rows = []
    for row in measurement["rows"]:
        ratios = {(ratio["of"], ratio["beside"]): number(ratio["times_better"]) for ratio in row["ratios"]}
        rows.append([escaped(row["name"]), escaped(row["unit"]), *(cell(row, label) for label in labels),
                     *(ratios.get(each, "-") for each in beside)])
    notes = [measurement["note"]] if measurement["note"] else []
    notes += [f"{label}: {problem}" for label, problem in measurement["problems"].items()]
    return (f'<h2 id="{escaped(measurement["name"])}">{escaped(measurement["title"])}</h2>'
            f'<p class="faint"><code>{escaped(measurement["command"])}</code></p>' + table(head, rows, numbers_from=2) +
            "".join(f"<p>{escaped(note)}</p>" for note in notes) + plots(measurement))


def html_of(results):
    """Returns the page of what __main__.py has collected."""
    used = [(one["name"], f"{one['version']}; {one['compiler']}; {one['launcher']}") for one in results["libraries"]]
    used += [(one["name"], f"left out: {one['why']}") for one in results["left_out"]]
    kind = "A quick run, which tests the suite: its figures mean nothing. " if results["quick"] else ""
    contents = "".join(f'<li><a href="#{escaped(one["name"])}">{escaped(one["title"])}</a></li>' for one in results["measurements"])
    return ("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Finegrain MPI beside other libraries</title>"
            f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>'
            "<h1>Finegrain MPI beside other libraries</h1>"
            f"<p>{kind}{escaped(results['date'])}, commit {escaped(results['commit'] or 'unknown')}, "
            f"{results['repeats']} turns, {results.get('seconds', 0):.0f} s. Figures are medians of turns, with the least and the most "
            "of them; ratios are medians of the ratios of one turn. Times mean something only as ratios within one run.</p>"
            f"<h2>Libraries</h2>{pairs(used)}<h2>Machine</h2>{pairs(results['machine'].items())}"
            f"<h2>Contents</h2><ul>{contents}</ul>" + "".join(section(one) for one in results["measurements"]) + "</body></html>\n")
