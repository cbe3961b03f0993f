"""Loops that keep the processors busy while a test runs, so that it also meets the orders of events of a loaded machine."""

import contextlib
import os
import subprocess
import sys


@contextlib.contextmanager
def busy_loops(count):
    """Runs `count` loops until the block is left. They end with this process, even if it is killed."""
    loop = f"import os\nwhile os.getppid() == {os.getpid()}: pass"
    loops = [subprocess.Popen([sys.executable, "-c", loop]) for _ in range(count)]
    try:
        yield
    finally:
        for process in loops:
            process.kill()
            process.wait()
