import pytest


@pytest.mark.mpi(size=3)
def test_x():
    pass
