"""Magics of IPython and Jupyter: %%mpi runs a cell on ranks that stay alive between cells,
%mpi_stop ends them."""

import atexit
import linecache
import sys

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from .job import Job, JobError, Tools, check_memory, default_processes, places_text
from .words import by_rank, joined, joined_text, the_ranks

_DEFAULT_RANKS = 4
# What a rank takes before its cells import anything.
_RANK_BYTES = 6_500_000
# How long ranks may take to end a cell after an interrupt, in seconds.
_INTERRUPT = 3


class RanksFailed(Exception):
    """A cell failed on some ranks. Their tracebacks have been printed."""

    def _render_traceback_(self):
        return [str(self)]


@magics_class
class MpiMagics(Magics):
    def __init__(self, shell):
        super().__init__(shell)
        self._job = None
        self._cells = 0
        self._last = (_DEFAULT_RANKS, None)
        atexit.register(self.end)

    @magic_arguments()
    @argument("-n", type=int, help="ranks (default: as in the cell before, or 4)")
    @argument("-nfg", type=int, help="ranks in each process")
    @argument("--processes", "-p", type=int, help="processes (default: one a core)")
    @argument("--timeout", "-t", type=float, help="seconds after which the cell is given up (default: never)")
    @argument("--mpiexec", help="Finegrain MPI's mpiexec, with options if need be")
    @cell_magic
    def mpi(self, line, cell):
        """Runs the cell on all ranks, each with a namespace of its own that lives until %mpi_stop.

        `rank` and `size` are defined. Output is shown by rank, equal output once. Another number of
        ranks starts them anew."""
        wanted = parse_argstring(self.mpi, line)
        ranks, processes = self._shape(wanted)
        self._prepare(ranks, processes, wanted.mpiexec)
        self._cells += 1
        job = self._job
        name = "<cell %d>" % self._cells
        linecache.cache[name] = (len(cell), None, cell.splitlines(True), name)
        answer = job.ask({"name": name, "text": cell}, wanted.timeout, interrupt=_INTERRUPT)
        self._show(job, answer)

    @line_magic
    def mpi_stop(self, line):
        """Ends the ranks."""
        if self._job:
            print("%d ranks have ended" % self._job.ranks)
        self.end()

    def end(self):
        job, self._job = self._job, None
        if job:
            for _, line in job.end().lines:  # such as findings of mpiexec -check
                print(line, file=sys.stderr)

    def _shape(self, wanted):
        for name, value in (("-n", wanted.n), ("-nfg", wanted.nfg), ("--processes", wanted.processes)):
            if value is not None and value < 1:
                raise UsageError("%s is %d; allowed are numbers from 1 on" % (name, value))
        if wanted.timeout is not None and wanted.timeout <= 0:
            raise UsageError("--timeout is %g; allowed are numbers above 0" % wanted.timeout)
        if wanted.nfg:
            processes = wanted.processes or (-(-wanted.n // wanted.nfg) if wanted.n else default_processes(1 << 20))
            ranks = wanted.n or wanted.nfg * processes
            if ranks != wanted.nfg * processes:
                raise UsageError("-n %d is not --processes %d times -nfg %d: leave one of them out" % (
                    ranks, processes, wanted.nfg))
            return ranks, processes
        ranks = wanted.n or self._last[0]
        same = self._last[1] if self._last[0] == ranks else None
        return ranks, min(ranks, wanted.processes or same or default_processes(ranks))

    def _prepare(self, ranks, processes, mpiexec):
        """Has a job of this shape: the one that runs, or a new one."""
        job = self._job
        if job and not job.alive():
            print("The ranks had ended; they are started anew.", file=sys.stderr)
            self.end()
        elif job and (job.ranks, job.processes) != (ranks, processes):
            print("%d ranks in %d processes are ended for %d in %d." % (job.ranks, job.processes, ranks, processes),
                  file=sys.stderr)
            self.end()
        if self._job:
            return
        try:
            tools = Tools(mpiexec)
            tools.check_version()
            check_memory(ranks, _RANK_BYTES)
            job = Job(ranks, "finegrain_mpi.cells", {}, processes, tools)
            answer = job.hello(60 + ranks)
        except (JobError, OSError) as error:
            raise UsageError(str(error)) from None
        errors = {rank: record["error"] for rank, record in answer.records.items() if record.get("error")}
        if errors or answer.trouble:
            job.kill()
            text = joined_text(errors) + (answer.trouble.text if answer.trouble else "")
            raise UsageError("the ranks did not start: %s\n%s" % (text, "\n".join(line for _, line in answer.lines)))
        self._job, self._last = job, (ranks, processes)

    def _show(self, job, answer):
        texts, others = by_rank([line for _, line in answer.lines if not line.startswith(("fgmpi: deadlock", "fgmpi:   "))])
        for rank, text in answer.outputs.items():
            texts[rank] = texts.get(rank, "") + text
        sys.stdout.write(joined_text(texts))
        if answer.trouble is None:
            sys.stdout.write("".join(line + "\n" for line in others))
        sys.stdout.flush()
        errors = {rank: record["error"] for rank, record in answer.records.items() if record.get("error")}
        for ranks, text in joined(errors):
            print("---- %s of %d ----\n%s" % (the_ranks(ranks), job.ranks, text), file=sys.stderr)
        if answer.trouble:
            missing = [rank for rank in range(job.ranks) if rank not in answer.records]
            trouble = answer.trouble
            lines = ["---- %s of %d did not end the cell ----" % (the_ranks(missing), job.ranks), trouble.text]
            if trouble.kind == "ended":
                lines += [line for _, line in answer.lines if "fgmpi: " in line][:20]
            if trouble.places:
                lines += ["", "where they are (the innermost call first):", places_text(trouble.places)]
            print("\n".join(lines), file=sys.stderr)
            self._job = None
            raise RanksFailed("The ranks have ended, with their variables; the next cell starts them anew.")
        if errors:
            raise RanksFailed("The cell failed on %s; all ranks live on." % the_ranks(sorted(errors)))
