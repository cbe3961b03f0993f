"""Becomes mpiexec: launch.py PARENT PROGRAM ARGUMENT...

The job ends with the process PARENT, which starts it, and may open as many files as the system
allows. A program of its own does that, since a process with threads should not run code after a
fork.
"""

import ctypes
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1

ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)  # it has ended before it could be watched
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
os.execvp(sys.argv[2], sys.argv[2:])
