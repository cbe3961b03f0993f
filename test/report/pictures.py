#!/usr/bin/env python3
"""Makes the pictures of docs/reporting.md and of docs/tutorials/balance-a-program.md: pictures.py BIN PROGRAMS. BIN: the build tree's; PROGRAMS: those of this folder, compiled.

Parts of three pages: bad, of 10 ranks in 2 processes, stencil, a ring of 32 ranks in 4, and zoom, whose ranks move. Needs Chromium.
"""

import os
import subprocess
import sys
import tempfile

import browser

IMAGES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/images")
TOP = "document.getElementById('{}').getBoundingClientRect().top + scrollY"
BELOW = "document.getElementById('{}').getBoundingClientRect().bottom + scrollY"
# Page, picture, from the top of this element (None: of the page), to the lower edge of that, and so many pixels more.
PARTS = (("bad", "report", None, "rank-chart", 10), ("bad", "report-timeline", "timeline", "activity", 10), ("stencil", "report-matrix", "talk", "matrix-text", 10),
         ("zoom", "report-moves", "timeline", "rows", 115))
PAGES = {"bad": ["-n", "2", "-nfg", "5", "./bad", "20", "50"], "stencil": ["-n", "4", "-nfg", "8", "./stencil", "2000", "4096"],
         "zoom": ["-balance", "-n", "2", "-nfg", "16", "./zoom", "100"]}


def main():
    binaries, programs = (os.path.abspath(path) for path in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as work, browser.Browser() as view:
        for name, words in PAGES.items():
            os.symlink(f"{programs}/../checkpoint/tutorial_zoom" if name == "zoom" else f"{programs}/{name}", f"{work}/{name}")
            subprocess.run([f"{binaries}/mpiexec", "-report", "run.html", *words], cwd=work, check=True, stdin=subprocess.DEVNULL)
            view.open(f"{work}/run.html", width=900)
            for of, picture, top, below, more in PARTS:
                if of == name:
                    start = view.run(TOP.format(top)) if top else 0
                    view.picture(f"{IMAGES}/{picture}.png", start, view.run(BELOW.format(below)) + more - start)


main()
