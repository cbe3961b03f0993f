"""Stands in for mpi4py where that is not built for this library: the few calls that the plugin and
the example make."""
import ctypes
import pickle

_library = ctypes.CDLL(None)
_BYTE, _LENGTH = 0x4C00010D, 4096


def _buffer(value):
    return ctypes.create_string_buffer(pickle.dumps(value), _LENGTH)


class Comm:
    def __init__(self, handle):
        self.handle = handle

    def _number(self, call):
        number = ctypes.c_int(0)
        if hasattr(_library, call):
            getattr(_library, call)(self.handle, ctypes.byref(number))
        return number.value

    def Get_rank(self):
        return self._number("MPI_Comm_rank")

    def Get_size(self):
        return self._number("MPI_Comm_size")

    def Barrier(self):
        _library.MPI_Barrier(self.handle)

    def bcast(self, value, root=0):
        buffer = _buffer(value)
        _library.MPI_Bcast(buffer, _LENGTH, _BYTE, root, self.handle)
        return pickle.loads(buffer.raw)

    def sendrecv(self, value, dest, source):
        got = ctypes.create_string_buffer(_LENGTH)
        _library.MPI_Sendrecv(_buffer(value), _LENGTH, _BYTE, dest, 5, got, _LENGTH, _BYTE, source, 5, self.handle,
                              (ctypes.c_int * 16)())
        return pickle.loads(got.raw)

    def Set_name(self, name):
        _library.MPI_Comm_set_name(self.handle, name.encode())

    def Dup(self):
        new = ctypes.c_int()
        _library.MPI_Comm_dup(self.handle, ctypes.byref(new))
        return Comm(new.value)

    def Free(self):
        _library.MPI_Comm_free(ctypes.byref(ctypes.c_int(self.handle)))


COMM_WORLD = Comm(0x44000000)
