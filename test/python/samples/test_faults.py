"""Tests that end badly in all ways; test_plugin.py looks at what pytest says."""
import ctypes
import os
import sys
import time

import mpi
import pytest

pytestmark = pytest.mark.mpi(ranks=4)


def test_assertion(mpi_rank):
    print("on", mpi_rank // 2)
    assert {"rank": mpi_rank} != {"rank": 2}
    mpi.barrier()


def test_after_it(mpi_rank, mpi_size):
    mpi.barrier()
    assert mpi_size == 4


def test_all_differ(mpi_rank):
    assert mpi_rank < 0, "this is %d" % mpi_rank


def test_exit(mpi_rank):
    if mpi_rank == 1:
        sys.exit(3)
    mpi.barrier()


def test_quick_exit(mpi_rank):
    if mpi_rank == 1:
        os._exit(0)
    mpi.barrier()


def test_crash(mpi_rank):
    if mpi_rank == 1:
        ctypes.string_at(0)
    mpi.barrier()


def test_abort(mpi_rank):
    if mpi_rank == 1:
        mpi.library.MPI_Abort(mpi.WORLD, 7)
    mpi.barrier()


@pytest.mark.mpi(ranks=4, timeout=2)
def test_spin(mpi_rank):
    while mpi_rank == 1:
        pass
    mpi.barrier()


def test_polls(mpi_rank):
    assert mpi_rank != 3
    time.sleep(100)


class Odd(Exception):
    def __reduce__(self):
        raise TypeError("cannot be pickled")

    def __str__(self):
        raise ValueError("cannot be printed")


def test_odd_exception():
    raise Odd


def test_output(mpi_rank):
    sys.stdout.write("x" * 10_000_000)
    for _ in range(1000):
        os.write(1, b"past Python's streams\n" * 100)
    assert mpi_rank != 3


def test_interrupt(mpi_rank):
    if mpi_rank == 1:
        raise KeyboardInterrupt
    mpi.barrier()


def test_fixture(fails_on_one):
    mpi.barrier()


def test_end_of_fixture(ends_badly):
    mpi.barrier()


def test_descriptors(capfd):
    pass


@pytest.mark.xfail(strict=True)
def test_unexpected_pass():
    pass
