"""A session of IPython: runs the cells of the JSON file that is named, with an interrupt after some
seconds where one is given."""
import json
import os
import signal
import sys
import threading

from IPython.core.interactiveshell import InteractiveShell

signal.signal(signal.SIGINT, signal.default_int_handler)
shell = InteractiveShell.instance(colors="NoColor")
shell.run_line_magic("load_ext", "finegrain_mpi")
with open(sys.argv[1], encoding="utf-8") as file:
    cells = json.load(file)
for line, cell, interrupt in cells:
    print("==== cell")
    sys.stdout.flush()
    if interrupt:
        threading.Timer(interrupt, os.kill, (os.getpid(), signal.SIGINT)).start()
    result = shell.run_cell("%%mpi " + line + "\n" + cell if cell is not None else line)
    print("success: %s" % result.success)
    sys.stdout.flush()
