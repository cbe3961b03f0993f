#!/usr/bin/env python3
"""Looks at pages of mpiexec -report in a browser: a stencil, a task farm and a bad program, of 10 and of 10,000 ranks, light and dark,
wide and narrow, by keyboard, on paper. Its exit status is 77 where there is no browser.

  page.py BIN FOLDER [PICTURES]     BIN: the build tree's; FOLDER: the programs; PICTURES: a folder for pictures of all pages
"""

import os
import shutil
import subprocess
import sys
import tempfile

import browser

BIN, FOLDER = sys.argv[1:3]
os.environ.pop("FGMPI_TRANSPORT", None)  # the page shows messages by shared memory
PICTURES = sys.argv[3] if len(sys.argv) > 3 else None
if PICTURES:
    os.makedirs(PICTURES, exist_ok=True)
STEPS, BYTES, TASKS = 20, 4096, 500
PROGRAMS = {"stencil": [str(STEPS), str(BYTES)], "farm": [str(TASKS), "100"], "bad": ["20", "2"]}

# Words of a chart that lie over each other, are cut off at its edges, or are small.
OVERLAPS = """[...document.querySelectorAll('svg')].flatMap((svg) => {
  const edge = svg.getBoundingClientRect();
  const words = [...svg.querySelectorAll('text')].map((t) => [t.textContent, t.getBoundingClientRect()]);
  const over = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3;
  return [...words.filter(([, w]) => w.height < 11).map(([t]) => 'small: ' + t), ...words.filter(([, w]) => w.left < edge.left - 1 || w.right > edge.right + 1).map(([t]) => 'cut off: ' + t),
    ...words.flatMap(([t, a], i) => words.slice(i + 1).filter(([, b]) => over(a, b)).map(([u]) => t + ' over ' + u))];
})"""
# Charts without anything but their scales.
EMPTY = """[...document.querySelectorAll('.chart')].filter((c) => c.querySelector('svg') && !c.querySelector('svg rect, svg > path'))
  .map((c) => c.id)"""
BROKEN_LINKS = "[...document.querySelectorAll('a')].map((a) => a.getAttribute('href')).filter((h) => !document.querySelector(h))"
# What stands above something and means nothing without it.
HEADS = "[...document.querySelectorAll('h2, h3, section > .hint:not(#matrix-text)')].map((e) => e.textContent.replace(/\\s+/g, ' ').trim())"
# How many colours a canvas has: one means that nothing is drawn.
COLORS = """['matrix', 'rows'].map((id) => { const c = document.getElementById(id);
  return new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size; })"""
# The least contrast of words with what is behind them.
CONTRAST = """(() => {
  const part = (v) => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = (c) => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number); return .2126 * part(r) + .7152 * part(g) + .0722 * part(b); };
  const behind = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
    if (!/, 0\\)$/.test(c)) return c; } return 'rgb(255, 255, 255)'; };
  return Math.min(...[...document.querySelectorAll('h1, h2, h3, p, a, th, td, b, button, svg text, .legend span')].map((e) => {
    const style = getComputedStyle(e), a = light(e.namespaceURI.endsWith('svg') ? style.fill : style.color), b = light(behind(e));
    return (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  }));
})()"""
ROW = "[...document.querySelectorAll('#{at} tbody tr')].map((r) => [...r.children].map((c) => c.textContent)).find((r) => r[0] === '{name}')"
TEXT = "document.getElementById('{at}').textContent"

wrong = []


def expect(good, what):
    if not good:
        wrong.append(what)
        print("FAILED:", what)


def looks_right(view, page, name, width, dark):
    faults = view.open(page, width=width, dark=dark)
    where = f"{name}, {width} wide, {'dark' if dark else 'light'}"
    expect(not faults, f"{where}: {faults}")
    size = view.run("document.documentElement.scrollWidth")
    expect(size <= width, f"{where}: the page is {size} wide")
    for what, found in (("words", OVERLAPS), ("empty charts", EMPTY), ("links", BROKEN_LINKS)):
        found = view.run(found)
        expect(found == [], f"{where}: {what}: {found}")
    colors = view.run(COLORS)
    expect(min(colors) > 3, f"{where}: colours of the canvases: {colors}")
    contrast = view.run(CONTRAST)
    expect(contrast >= 4.5, f"{where}: the contrast of some words is {contrast:.1f}")
    if PICTURES:
        view.picture(f"{PICTURES}/{name.replace(' ', '-')}-{width}{'-dark' if dark else ''}.png")


def stencil_numbers(view, size, processes):
    """What is to be read there, counted by hand."""
    calls, sent = f"{size * 2 * STEPS:,}", 2 * STEPS * size
    between = 2 * processes * STEPS
    row = view.run(ROW.format(at="calls", name="MPI_Isend"))
    expect(row and row[2] == calls and row[4] == "4 KiB", f"MPI_Isend of {size} ranks: {row}")
    row = view.run(ROW.format(at="calls", name="MPI_Allreduce"))
    expect(row and row[2] == f"{size * STEPS:,}" and row[4] == "8 bytes", f"MPI_Allreduce of {size} ranks: {row}")
    words = view.run(TEXT.format(at="ways"))
    for part in (f"in a process: {sent - between:,} messages", f"by shared memory: {between:,} messages"):
        expect(part in words, f"{part} of {size} ranks: {words}")
    expect(f"{size:,} in {processes} processes" in view.run(TEXT.format(at="run")), f"the head of {size} ranks")


def keyboard(view, page):
    """All that can be acted on is reached by the tabulator; the matrix zooms and moves by keys."""
    view.open(page)
    seen = []
    for _ in range(60):
        view.press("Tab")
        seen.append(view.run("document.activeElement.id || document.activeElement.textContent.slice(0, 20)"))
        if seen[-1] == "matrix":
            break
    expect("Memory" in seen and "bytes" in seen and seen[-1] == "matrix", f"the tabulator reaches {seen}")
    texts = [view.run(TEXT.format(at="matrix-text"))]
    for key in ("+", "ArrowRight", "ArrowDown", "-", "0"):
        view.press(key)
        texts.append(view.run(TEXT.format(at="matrix-text")))
    expect(len(set(texts[:4])) == 4 and texts[0] == texts[-1], f"keys on the matrix: {texts}")
    view.run("[...document.querySelectorAll('button')].find((b) => b.textContent === 'messages').focus()")
    view.press("Enter", "\r")
    pressed = view.run("[...document.querySelectorAll('button[aria-pressed=true]')].map((b) => b.textContent)")
    expect(pressed == ["messages", "all ways"], f"Enter on a button: {pressed}")


def links(view, page):
    view.open(page)
    for section in ("time", "timeline"):
        view.run(f"document.querySelector('nav a[href=\"#{section}\"]').click()")
        top = view.run(f"document.getElementById('{section}').getBoundingClientRect().top")
        expect(-5 <= top < 900, f"the link to {section} leads to {top}")


def paper(view, name, page, work):
    """Printed from a dark screen: light, on several sheets, and no heading at the foot of one."""
    view.open(page, dark=True)
    view.run("addEventListener('beforeprint', () => { window.paper = getComputedStyle(document.body).backgroundColor; })")
    path = f"{PICTURES or work}/{name}.pdf"
    view.print(path)
    with open(path, "rb") as file:
        text = file.read()
    sheets = text.count(b"/Type /Page\n")
    expect(text.startswith(b"%PDF") and 3 <= sheets <= 20, f"the page printed: {sheets} sheets, {len(text)} bytes")
    if shutil.which("pdftotext"):
        last_lines = [sheet.strip().splitlines()[-1].strip() for sheet in
                      subprocess.run(["pdftotext", "-layout", path, "-"], capture_output=True, text=True, check=True).stdout.split("\f")
                      if sheet.strip()]
        alone = [line for line in last_lines for words in view.run(HEADS) if words.endswith(line)]
        expect(alone == [], f"{name}: alone at the foot of a sheet: {alone}")
    expect(view.run("window.paper") == "rgb(255, 255, 255)", "paper is light")
    expect(view.run("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)", "the screen is dark again")


def main():
    if not browser.find():
        print("SKIPPED: there is no browser (Debian's package chromium)")
        return 77
    with tempfile.TemporaryDirectory() as work, browser.Browser() as view:
        pages = {}
        for name, words in PROGRAMS.items():
            for ranks in (5, 5000):
                page = pages[name, ranks] = f"{work}/{name}-{2 * ranks}.html"
                subprocess.run([f"{BIN}/mpiexec", "-report", page, "-n", "2", "-nfg", str(ranks), f"{FOLDER}/{name}", *words],
                               check=True, stdin=subprocess.DEVNULL, timeout=120)
                expect(os.path.getsize(page) < 2_000_000, f"{page} has {os.path.getsize(page)} bytes")
                for width, dark in ((1200, False), (1200, True), (400, False)):
                    looks_right(view, page, f"{name} {2 * ranks}", width, dark)
                if name == "stencil":
                    stencil_numbers(view, 2 * ranks, 2)
        keyboard(view, pages["stencil", 5])
        links(view, pages["bad", 5])
        for name in PROGRAMS:
            paper(view, name, pages[name, 5], work)
    print("ok" if not wrong else f"FAILED: {len(wrong)}")
    return 1 if wrong else 0


sys.exit(main())
