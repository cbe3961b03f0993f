"""The few calls of MPI that the ranks of a job need between commands, by ctypes.

mpi4py is not needed for them: tests and cells may use it, or another binding. Handles are those of
MPICH's ABI.
"""

import ctypes
import importlib.machinery
import pathlib
import sys

BUILD_MPI4PY = "MPICC=mpicc pip install --no-binary mpi4py mpi4py"
COMM_WORLD = 0x44000000
_BYTE = 0x4C00010D
_ANY_SOURCE, _ANY_TAG = -2, -1
_THREAD_MULTIPLE = 3


def foreign_mpi4py(folder):
    """Says what is wrong with the mpi4py in a folder where it is built for Open MPI, with which it
    would end the job."""
    try:
        libraries = list(pathlib.Path(folder).glob("MPI*.so"))
        foreign = [path for path in libraries if b"ompi_mpi_comm_world" in path.read_bytes()]
    except OSError:
        return None
    if not foreign or len(foreign) < len(libraries):
        return None
    return "mpi4py in %s is built for Open MPI: build it for Finegrain MPI (%s) in a folder that comes before it" % (
        folder, BUILD_MPI4PY)


class ForeignMpi4py:
    """A finder of modules, for sys.meta_path, that refuses to import such an mpi4py."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "mpi4py.MPI":
            spec = importlib.machinery.PathFinder.find_spec(name, path)
            wrong = spec and spec.origin and foreign_mpi4py(pathlib.Path(spec.origin).parent)
            if wrong:
                raise ImportError(wrong)
        return None


class Mpi:
    """The rank's MPI, initialised, with a communicator of its own for commands."""

    def __init__(self):
        sys.meta_path.insert(0, ForeignMpi4py)
        self._calls = ctypes.CDLL(None)
        if not hasattr(self._calls, "MPI_Init_thread"):
            raise OSError("this interpreter has no MPI library: a rank must be run by fgmpi-python")
        provided = ctypes.c_int()
        self._calls.MPI_Init_thread(None, None, _THREAD_MULTIPLE, ctypes.byref(provided))
        self.rank = self._number("MPI_Comm_rank")
        self.size = self._number("MPI_Comm_size")
        comm = ctypes.c_int()
        self._calls.MPI_Comm_dup(COMM_WORLD, ctypes.byref(comm))
        self._comm = comm.value

    def _number(self, call):
        value = ctypes.c_int()
        getattr(self._calls, call)(COMM_WORLD, ctypes.byref(value))
        return value.value

    def barrier(self):
        self._calls.MPI_Barrier(self._comm)

    def broadcast(self, data):
        """Rank 0 gives the bytes, all get them."""
        length = ctypes.c_long(len(data) if self.rank == 0 else 0)
        self._calls.MPI_Bcast(ctypes.byref(length), ctypes.sizeof(length), _BYTE, 0, self._comm)
        buffer = ctypes.create_string_buffer(data if self.rank == 0 else b"", max(length.value, 1))
        self._calls.MPI_Bcast(buffer, length.value, _BYTE, 0, self._comm)
        return buffer.raw[:length.value]

    def message_waits(self):
        """Whether a message on MPI_COMM_WORLD has come that nobody has received."""
        flag = ctypes.c_int()
        status = (ctypes.c_int * 16)()
        self._calls.MPI_Iprobe(_ANY_SOURCE, _ANY_TAG, COMM_WORLD, ctypes.byref(flag), status)
        return bool(flag.value)

    def finalize(self):
        finalized = ctypes.c_int()
        self._calls.MPI_Finalized(ctypes.byref(finalized))
        if not finalized.value:
            self._calls.MPI_Comm_free(ctypes.byref(ctypes.c_int(self._comm)))
            self._calls.MPI_Finalize()
