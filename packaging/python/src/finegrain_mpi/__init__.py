"""Finegrain MPI for Python: tests with pytest and cells of notebooks on many ranks in few
processes.

`pytest_plugin` runs tests marked with `pytest.mark.mpi`; `%load_ext finegrain_mpi` gives notebooks
`%%mpi`. Both start a job (`job`) whose ranks (`rank`) wait for commands between tests or cells."""

__version__ = "0.1.0"


def load_ipython_extension(shell):
    """IPython calls this for %load_ext finegrain_mpi."""
    from .magics import MpiMagics

    shell.register_magics(MpiMagics(shell))


def unload_ipython_extension(shell):
    """IPython calls this for %unload_ext finegrain_mpi: the ranks end."""
    magics = shell.magics_manager.registry.get("MpiMagics")
    if magics is not None:
        magics.end()
