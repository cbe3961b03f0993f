import pytest


@pytest.fixture(scope="session")
def numbers(mpi_rank):
    yield [mpi_rank]


@pytest.fixture
def fails_on_one(mpi_rank):
    assert mpi_rank != 1, "the fixture fails"


@pytest.fixture
def ends_badly(mpi_rank):
    yield
    assert mpi_rank != 1, "the end fails"
