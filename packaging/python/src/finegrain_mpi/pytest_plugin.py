"""The plugin of pytest that runs tests marked with `pytest.mark.mpi` on ranks.

The main pytest (or a worker of pytest-xdist) makes an item for each number of ranks. It sends an
item to a job of that many ranks (pytest_jobs), which lives on for the next one, and reports what
the ranks answer as one (pytest_merge). In a rank this plugin gives the fixtures, and makes the same
items."""

import pytest

from .mpi import BUILD_MPI4PY

_PARAMETER = "_mpi_ranks"


def pytest_addoption(parser):
    group = parser.getgroup("finegrain", "tests on MPI ranks (Finegrain MPI)")
    group.addoption("--mpi-ranks", metavar="N,...",
                    help="numbers of ranks for tests marked with mpi that name none themselves (default: 1,4)")
    group.addoption("--mpi-processes", metavar="P",
                    help="most processes of a job; the ranks are spread over them (default: one a core)")
    group.addoption("--mpi-timeout", metavar="SECONDS", help="a test on ranks fails after so long (default: 60; 0: never)")
    group.addoption("--mpi-grace", metavar="SECONDS",
                    help="how long ranks may go on when another one has failed (default: 10; 0: as long as the timeout)")
    group.addoption("--mpiexec", metavar="COMMAND",
                    help="Finegrain MPI's mpiexec, with options if need be (default: the one beside fgmpi-python in PATH)")
    parser.addini("mpi_ranks", "as --mpi-ranks", default="1,4")
    parser.addini("mpi_processes", "as --mpi-processes", default="0")
    parser.addini("mpi_timeout", "as --mpi-timeout", default="60")
    parser.addini("mpi_grace", "as --mpi-grace", default="10")
    parser.addini("mpiexec", "as --mpiexec", default="")


def setting(config, name):
    """A setting's text: the option's, or that of pytest.ini."""
    value = config.getoption(name, None)
    return value if value is not None else config.getini(name)


def number(config, name, kind=float):
    text = setting(config, name)
    try:
        value = kind(text)
        if value < 0:
            raise ValueError
    except ValueError:
        raise pytest.UsageError("%s is %r; allowed are numbers from 0 on" % (name, text)) from None
    return value


def numbers_of_ranks(values, where):
    """Checks numbers of ranks, which may be given as one, as several or as a text with commas."""
    found = []
    for value in values:
        if isinstance(value, str):
            value = value.split(",")
        for part in value if isinstance(value, (list, tuple, set, range)) else [value]:
            try:
                count = int(part)
            except (TypeError, ValueError):
                count = 0
            if count < 1 or isinstance(part, bool):
                raise pytest.UsageError("%s: %r is not a number of ranks; allowed are numbers from 1 on" % (where, part))
            if count not in found:
                found.append(count)
    if not found:
        raise pytest.UsageError("%s: no number of ranks is given" % where)
    return found


def ranks_of_marker(marker, config, where):
    unknown = set(marker.kwargs) - {"ranks", "timeout"}
    if unknown:
        raise pytest.UsageError("%s: the marker mpi has no argument %s; allowed are ranks and timeout" % (
            where, sorted(unknown)[0]))
    if "ranks" in marker.kwargs:
        return numbers_of_ranks([marker.kwargs["ranks"]], where)
    if marker.args:
        return numbers_of_ranks(marker.args, where)
    return numbers_of_ranks([setting(config, "mpi_ranks")], "mpi_ranks")


def pytest_configure(config):
    config.addinivalue_line("markers", "mpi(ranks=N or [N, ...], timeout=SECONDS): run the test on MPI ranks, once for each number "
                            "(default: --mpi-ranks)")
    if in_rank(config) or (config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput")):
        return  # in a rank, or where pytest-xdist's workers run the tests
    from .pytest_jobs import Jobs

    config.pluginmanager.register(Jobs(config), "finegrain-jobs")


def in_rank(config):
    return hasattr(config, "finegrain_server")


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc):
    marker = metafunc.definition.get_closest_marker("mpi")
    if marker:
        ranks = ranks_of_marker(marker, metafunc.config, metafunc.definition.nodeid)
        metafunc.fixturenames.append(_PARAMETER)
        metafunc.parametrize(_PARAMETER, ranks, indirect=True, ids=["mpi-%d" % count for count in ranks])


def ranks_of_item(item):
    """How many ranks an item wants, 0 where it runs in pytest's own process."""
    callspec = getattr(item, "callspec", None)
    return callspec.params.get(_PARAMETER, 0) if callspec else 0


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("mpi") and not ranks_of_item(item):
            raise pytest.UsageError("%s: only functions and methods of plain classes can run on ranks, not those of unittest" % (
                item.nodeid))


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef, request):
    if in_rank(request.config) and fixturedef.argname in ("capfd", "capfdbinary") and request.config.finegrain_server.mpi.size > 1:
        pytest.fail("%s takes over descriptors, which the ranks of a process share: use capsys" % fixturedef.argname, pytrace=False)


@pytest.fixture
def _mpi_ranks(request):
    return request.param


def _server(request):
    if not in_rank(request.config):
        pytest.fail("this test does not run on ranks: mark it with pytest.mark.mpi", pytrace=False)
    return request.config.finegrain_server


@pytest.fixture(scope="session")
def mpi_rank(request):
    """The rank that runs the test."""
    return _server(request).mpi.rank


@pytest.fixture(scope="session")
def mpi_size(request):
    """The number of ranks."""
    return _server(request).mpi.size


@pytest.fixture
def mpi_comm(request):
    """A communicator of mpi4py of all ranks, the test's own: messages that a test leaves behind
    reach no other test."""
    server = _server(request)
    missing = None
    try:
        from mpi4py import MPI
    except ImportError as error:
        missing = str(error)
    if missing:
        if BUILD_MPI4PY not in missing:
            missing = "mpi_comm needs mpi4py, built for Finegrain MPI (%s): %s" % (BUILD_MPI4PY, missing)
        pytest.fail(missing, pytrace=False)
    if MPI.COMM_WORLD.Get_size() != server.mpi.size:
        pytest.fail("mpi4py in %s is built for another MPI library: build it for Finegrain MPI (%s)" % (
            MPI.__file__, BUILD_MPI4PY), pytrace=False)
    comm = MPI.COMM_WORLD.Dup()
    comm.Set_name("mpi_comm")
    yield comm
    comm.Free()


@pytest.fixture
def mpi_tmp_path(request, mpi_size, tmp_path_factory):
    """A temporary folder that is the same on all ranks; `tmp_path` is each rank's own."""
    import re
    from pathlib import Path

    name = re.sub(r"\W", "_", request.node.name)[:30]
    path = Path(_server(request).config.option.basetemp).parent / ("%s-%d" % (name, _server(request).channel.number))
    path.mkdir(exist_ok=True)
    return path
