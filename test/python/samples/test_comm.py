import pytest


@pytest.mark.mpi(ranks=3)
def test_comm(mpi_comm):
    assert mpi_comm.Get_size() == 3
    mpi_comm.Barrier()
