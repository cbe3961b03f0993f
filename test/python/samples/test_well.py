"""Tests that pass, are skipped or fail as expected."""
import ctypes
import warnings

import mpi
import pytest


def test_here(capfd):
    """Without the marker: in pytest's own process."""


@pytest.mark.mpi
def test_default(mpi_rank, mpi_size):
    assert 0 <= mpi_rank < mpi_size


@pytest.mark.mpi(1, 3)
@pytest.mark.parametrize("word", ["a", "b"])
def test_parameters(word, mpi_size, tmp_path, mpi_tmp_path, mpi_rank, capsys):
    print(word)
    assert capsys.readouterr().out == word + "\n"
    (tmp_path / "own").write_text(word)
    (mpi_tmp_path / str(mpi_rank)).write_text(word)
    mpi.barrier()
    assert len(list(mpi_tmp_path.iterdir())) == mpi_size


@pytest.mark.mpi(ranks=4)
class TestSession:
    def test_first(self, numbers, mpi_rank):
        assert numbers == [mpi_rank]
        numbers.append("seen")

    def test_second(self, numbers):
        assert "seen" in numbers

    def test_skip(self):
        pytest.skip("not here")

    def test_skip_on_some(self, mpi_rank):
        if mpi_rank:
            pytest.skip("only rank 0")

    @pytest.mark.xfail(reason="known", strict=True)
    def test_expected(self, mpi_rank):
        assert mpi_rank != 2
        mpi.barrier()

    @pytest.mark.xfail(reason="known")
    def test_expected_deadlock(self, mpi_rank):
        if mpi_rank:
            mpi.barrier()

    def test_warning(self, record_property, mpi_rank):
        record_property("half", mpi_rank // 2)
        warnings.warn("old", DeprecationWarning)

    def test_message_left(self, mpi_rank):
        if mpi_rank == 0:
            mpi.library.MPI_Send(None, 0, mpi.BYTE, 3, 9, mpi.WORLD)
        mpi.barrier()

    def test_no_message(self):
        flag = ctypes.c_int()
        mpi.library.MPI_Iprobe(-2, -1, mpi.WORLD, ctypes.byref(flag), (ctypes.c_int * 16)())
        assert not flag.value
