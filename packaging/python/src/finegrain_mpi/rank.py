"""What runs in each rank of a job: fgmpi-python rank.py FOLDER.

The folder has start.json (what to do, and the path of modules), the socket `control`, on which rank
0 gets commands, and the files that ranks write: `results-N` has the answers to command N, a line a
rank; `where-R` is what Python's faulthandler writes about rank R, when asked by a signal or when it
crashes.

Ranks that have carried out a command wait for the others in MPI_Barrier. A command in which some
ranks end early and others wait for them in MPI is thus a deadlock, which the library detects and
reports."""

import faulthandler
import gc
import importlib
import json
import os
import signal
import socket
import sys
import traceback

# faulthandler writes where each rank is when its process gets this signal, whatever it does.
WHERE_SIGNAL = signal.SIGRTMIN + 10


class Channel:
    """The rank's end of the job: commands, one after another, and answers to them."""

    def __init__(self, folder, mpi):
        self.folder = folder
        self.mpi = mpi
        self.number = 0
        self._socket = None
        if mpi.rank == 0:
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.connect(os.path.join(folder, "control"))
            self._lines = self._socket.makefile("rb")

    def commands(self):
        """Yields commands until the job is to end."""
        while True:
            line = self._lines.readline() if self._socket else b""
            line = self.mpi.broadcast(line)
            if not line.endswith(b"\n"):  # whoever has started the job has ended, or closed the socket
                return
            command = json.loads(line)
            self.number = command["number"]
            yield command

    def write(self, record):
        """Writes this rank's answer. Lines of ranks do not mix: each is one write to the end of the
        file."""
        record["rank"] = self.mpi.rank
        line = (json.dumps(record, default=str) + "\n").encode("utf-8", "surrogateescape")
        file = os.open(os.path.join(self.folder, "results-%d" % self.number), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            while line:
                line = line[os.write(file, line):]
        finally:
            os.close(file)

    def done(self):
        """Waits until all ranks have written their answers, and says so."""
        self.mpi.barrier()
        if self._socket:
            self._socket.sendall(b'{"done": %d}\n' % self.number)


def main(folder):
    with open(os.path.join(folder, "start.json"), encoding="utf-8") as file:
        start = json.load(file)
    sys.path[:] = start["path"]
    for packages in start["sites"]:
        importlib.import_module("site").addsitedir(packages)
    from finegrain_mpi.mpi import Mpi

    mpi = Mpi()
    where = open(os.path.join(folder, "where-%d" % mpi.rank), "w")
    faulthandler.enable(where)
    faulthandler.register(WHERE_SIGNAL, where)
    channel = Channel(folder, mpi)
    gc.disable()  # modules that are imported are no garbage
    hello = {"pid": os.getpid()}
    try:
        server = importlib.import_module(start["server"]).Server(channel, start)
    except BaseException:
        server, hello["error"] = None, traceback.format_exc()
    gc.enable()
    gc.freeze()
    channel.write(hello)
    channel.done()
    if server:
        server.serve()
    mpi.barrier()
    mpi.finalize()


if __name__ == "__main__":
    main(sys.argv[1])
