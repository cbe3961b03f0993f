"""An example: pytest --mpi-ranks 1,4,64 test_ring.py"""
import pytest

MPI = pytest.importorskip("mpi4py.MPI", reason="mpi4py, built for Finegrain MPI, is not installed")


@pytest.mark.mpi
def test_ring(mpi_comm):
    """Each rank sends its number to the next one."""
    rank, size = mpi_comm.Get_rank(), mpi_comm.Get_size()
    got = mpi_comm.sendrecv(rank, dest=(rank + 1) % size, source=(rank - 1) % size)
    assert got == (rank - 1) % size


@pytest.mark.mpi(ranks=[2, 8])
@pytest.mark.parametrize("root", [0, 1])
def test_broadcast(mpi_comm, root):
    text = mpi_comm.bcast("hello" if mpi_comm.Get_rank() == root else None, root=root)
    assert text == "hello"


@pytest.mark.mpi(ranks=4)
def test_one_file(mpi_comm, mpi_tmp_path):
    """mpi_tmp_path is the same folder on all ranks; tmp_path is each rank's own."""
    (mpi_tmp_path / str(mpi_comm.Get_rank())).write_text("here")
    mpi_comm.Barrier()
    assert len(list(mpi_tmp_path.iterdir())) == 4


def test_without_ranks():
    """No marker: pytest's own process runs it."""
    assert 1 + 1 == 2
