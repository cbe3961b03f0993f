"""The magics of IPython (packaging/python): cells on ranks that live on, errors, interrupts, ranks
that die.

Run by run.sh, which sets PATH and PYTHONPATH."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parent / "samples"
BARRIER = "import ctypes; ctypes.CDLL(None).MPI_Barrier(0x44000000)\n"
# Line of the magic, cell, seconds until an interrupt, success, what is printed, what is not.
CELLS = [
    ("-n 6", "x = rank * 10\nprint('hello')\nsize", None, True, [r"^\[0-5\] hello\n\[0-5\] 6$"], []),
    ("", "x", None, True, [r"^\[0\] 0\n\[1\] 10\n"], []),
    ("", "if rank == 2: raise ValueError('planned')\nprint('well')", None, False,
     [r"^\[0-1,3-5\] well$", r"---- rank 2 of 6 ----", r'File "<cell 3>", line 1', "ValueError: planned", "all ranks live on"],
     ["finegrain_mpi"]),
    ("", "x = x + 1; x // 11", None, True, [r"^\[0\] 0\n\[1-5\] 1$|^\[0\] 0$"], []),
    ("", "def f(:", None, False, ["SyntaxError", "ranks 0-5 of 6"], ["ast.py"]),
    ("", "import sys; sys.exit(3)", None, False, [r"SystemExit: 3 \(the rank stays\)"], []),
    ("", "while True: pass", 2, False, ["KeyboardInterrupt", "on ranks 0-5; all ranks live on"], ["_interrupt"]),
    ("", "import time; time.sleep(100)", 2, False, ["KeyboardInterrupt", "on ranks 0-5; all ranks live on"], []),
    ("", "x = 5\nx;", None, True, [], [r"\[0-5\]"]),
    ("", "print(x)", None, True, [r"^\[0-5\] 5$"], []),
    ("", "import os; os.write(1, b'past streams\\n');", None, True, [r"^\[0-5\] past streams$"], []),
    ("", "if rank == 1: raise RuntimeError('alone')\n" + BARRIER, None, False,
     ["RuntimeError: alone", "ranks 0,2-5 of 6 did not end the cell", "deadlock", "<cell 12>:2: in <module>",
      "starts them anew"], []),
    ("", "'x' in globals(), size", None, True, [r"^\[0-5\] \(False, 6\)$"], []),
    ("", "while True:\n    if rank: break\n" + BARRIER, 2, False, ["KeyboardInterrupt", "starts them anew"], []),
    ("-nfg 2 --processes 2 --timeout 3", "print('begun')\nimport time\nif rank == 1: time.sleep(100)", None, False,
     [r"\[0-3\] begun", "rank 1 of 4 did not end the cell", "it did not end within 3 s", "in <module>"], []),
    ("", "import os\nif rank == 1: os._exit(2)", None, False, ["has ended without a word", "starts them anew"], []),
    ("", "import ctypes\nif rank == 1: ctypes.string_at(0)", None, False, ["Segmentation fault", "starts them anew"], []),
    ("-n 3", "class Odd(Exception):\n    def __str__(self): raise ValueError\nraise Odd", None, False,
     ["Odd", "ranks 0-2 of 3"], []),
    ("", "print('y' * 10_000_000)", None, True, [r"\[0-2\] \.\.\. \d+ bytes are left out"], []),
    ("-n 0", "1", None, False, ["-n is 0; allowed are numbers from 1 on"], []),
    ("-n 5 -nfg 2", "1", None, False, ["leave one of them out"], []),
    ("-n 2", "size", None, True, ["are ended for 2", r"^\[0-1\] 2$"], []),
    ("%mpi_stop", None, None, True, ["2 ranks have ended"], []),
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cells")
    (folder / "cells.json").write_text(json.dumps([cell[:3] for cell in CELLS]))
    done = subprocess.run([sys.executable, str(SAMPLES / "session.py"), str(folder / "cells.json")], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=200,
                          env=dict(os.environ, IPYTHONDIR=str(folder), PYTHONUNBUFFERED="1"))
    parts = done.stdout.split("==== cell\n")[1:]
    assert done.returncode == 0 and len(parts) == len(CELLS), done.stdout[-5000:]
    return parts


@pytest.mark.parametrize("number", range(len(CELLS)))
def test_cell(answers, number):
    _, _, _, success, says, says_not = CELLS[number]
    text = answers[number]
    assert "success: %s" % success in text, text[-5000:]
    for expected in says:
        assert re.search(expected, text, re.M), "%s is not in\n%s" % (expected, text[-5000:])
    for unexpected in says_not:
        assert not re.search(unexpected, text), "%s is in\n%s" % (unexpected, text[-5000:])


def test_nothing_is_left(answers):
    """The session has ended, and so have all its ranks."""
    left = []
    for folder in Path("/proc").iterdir():
        try:
            line = (folder / "cmdline").read_bytes()
            # Jobs have folders in TMPDIR, which is this run's alone: other tests start jobs, too.
            if b"finegrain_mpi/rank.py" in line and os.environ["TMPDIR"].encode() in line:
                left.append(line)
        except OSError:
            pass
    assert not left


def test_without_installation():
    code = ("from IPython.core.interactiveshell import InteractiveShell\n"
            "shell = InteractiveShell.instance()\nshell.run_line_magic('load_ext', 'finegrain_mpi')\n"
            "shell.run_cell('%%mpi\\n1')\n")
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
                          env=dict(os.environ, PATH="/usr/bin:/bin"))
    assert "fgmpi-python is not found" in done.stdout
