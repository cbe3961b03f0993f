"""The main pytest's part: jobs for numbers of ranks, to which it sends the items, and one report a
phase for each item.

A job is kept for further items with its number of ranks. It is ended, and started anew for the next
item, after trouble (a deadlock, a crash, a timeout), after messages were left behind on
MPI_COMM_WORLD, and after a failure of a test that does not use mpi_comm, since receives may be
pending on MPI_COMM_WORLD."""

import collections
import os
import pathlib
import pickle
import re
import sys
import time
import uuid
import warnings

import pytest
from _pytest.reports import TestReport

from . import pytest_merge as merge
from .job import Job, JobError, Tools, check_memory, default_processes, places_text
from .mpi import foreign_mpi4py
from .pytest_plugin import number, numbers_of_ranks, ranks_of_item, setting
from .words import by_rank, joined, joined_text, the_ranks

# What a rank with pytest takes, before it imports anything for its tests.
_RANK_BYTES = 20_000_000
# Jobs are kept as long as they have so many ranks together.
_KEPT_RANKS = 256
_SIMPLE = (type(None), bool, int, float, str, bytes, pathlib.PurePath)
# What hydra prints when a process has ended by a signal. The reason is in other lines.
_HYDRA = ("=" * 20, "=   ", "YOUR APPLICATION TERMINATED", "This typically refers to a problem", "Please see the FAQ page")

# Frames of the interpreter in the stack of a crash.
_STACK = re.compile(r"  #\d+ .*\((libpython|libmpich|libffi|libc\.so|_ctypes)")


def _is_simple(value):
    if isinstance(value, (list, tuple, set, frozenset)):
        return all(_is_simple(element) for element in value)
    if isinstance(value, dict):
        return all(_is_simple(element) for pair in value.items() for element in pair)
    return isinstance(value, _SIMPLE)


class Jobs:
    def __init__(self, config):
        self.config = config
        self.timeout = number(config, "mpi_timeout")
        self.grace = number(config, "mpi_grace")
        self.processes = number(config, "mpi_processes", int)
        numbers_of_ranks([setting(config, "mpi_ranks")], "mpi_ranks")
        self._jobs = collections.OrderedDict()
        self._tools = None
        self._cannot = None
        self._following = None
        self._errors_at_end = 0

    # Hooks.

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        ranks = ranks_of_item(item)
        if not ranks or item.get_closest_marker("skip") or self.config.getoption("setupplan", False):
            return None  # pytest's own protocol does not run the test, or runs it in this process
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        os.environ["PYTEST_CURRENT_TEST"] = "%s (call)" % item.nodeid
        try:
            reports = self._run(item, nextitem, ranks)
        finally:
            os.environ.pop("PYTEST_CURRENT_TEST", None)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def pytest_sessionfinish(self, session):
        self.pytest_unconfigure()
        if self._errors_at_end and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_unconfigure(self):
        for ranks in list(self._jobs):
            self._end(ranks)

    # Jobs.

    def _start(self, ranks):
        """Returns the job for so many ranks; raises a JobError with words where it cannot be
        started."""
        if self._cannot:
            raise JobError(self._cannot)
        if ranks in self._jobs and self._jobs[ranks].alive():
            self._jobs.move_to_end(ranks)
            return self._jobs[ranks]
        if ranks in self._jobs:  # it has died between tests
            self._end(ranks)
        try:
            if not self._tools:
                self._tools = Tools(setting(self.config, "mpiexec"))
                self._tools.check_version()
            _check_mpi4py()
        except JobError as error:
            self._cannot = str(error)
            raise
        while self._jobs and sum(self._jobs) + ranks > _KEPT_RANKS:
            self._end(next(iter(self._jobs)))
        check_memory(ranks, _RANK_BYTES)
        processes = min(ranks, self.processes) if self.processes else default_processes(ranks)
        echo = None
        if self.config.getoption("capture", "fd") == "no":
            echo = lambda stream, line: print(line, file=getattr(sys, stream), flush=True)
        job = Job(ranks, "finegrain_mpi.pytest_rank", self._start_options(ranks), processes, self._tools, echo,
                  str(self.config.invocation_params.dir))
        answer = job.hello(60 + ranks)
        errors = {rank: record["error"] for rank, record in answer.records.items() if "error" in record}
        if errors or answer.trouble:
            job.kill()
            text = ["the ranks did not start" + (": " + answer.trouble.text if answer.trouble else "")]
            text += ["---- %s ----\n%s" % (the_ranks(some), words) for some, words in joined(errors)]
            text += [places_text(answer.trouble.places), _printed(answer.lines)] if answer.trouble else []
            raise JobError("\n".join(text))
        self._jobs[ranks] = job
        return job

    def _start_options(self, ranks):
        config = self.config
        options = {name: value for name, value in vars(config.option).items() if _is_simple(value)}
        options["rootdir"] = str(config.rootpath)
        options["inifilename"] = str(config.inipath) if config.inipath else None
        options["capture"] = "no" if options.get("capture") == "no" else "sys"
        plugins = [name for name in options.pop("plugins", None) or [] if not name.startswith("no:")]
        blocked = [word for name in config.option.plugins or [] if name.startswith("no:") and name != "no:terminal"
                   for word in ("-p", name)]
        base = config._tmp_path_factory.getbasetemp() / ("mpi-%d-%s" % (ranks, uuid.uuid4().hex[:8]))
        base.mkdir(mode=0o700)
        return {"options": pickle.dumps(options).hex(), "arguments": blocked + [str(argument) for argument in config.args],
                "plugins": plugins, "files": self._files, "basetemp": str(base), "run": uuid.uuid4().hex}

    def _end(self, ranks, timeout=10):
        job = self._jobs.pop(ranks)
        answer = job.end(timeout)
        errors = {rank: record["error"] for rank, record in answer.records.items() if record.get("error")}
        texts = ["the end of fixtures failed on %s of %d:\n%s" % (the_ranks(some), ranks, text) for some, text in joined(errors)]
        if answer.trouble:
            texts.append("the ranks did not end:\n%s\n%s" % (answer.trouble.text, places_text(answer.trouble.places)))
        self._errors_at_end += len(texts)
        printed = "" if answer.trouble else _printed(answer.lines)  # such as findings of mpiexec -check
        texts += ["the job of %d ranks printed at its end:\n%s" % (ranks, printed)] if printed else []
        for text in texts:
            self._warn(self.config, warnings.WarningMessage(pytest.PytestWarning(text), pytest.PytestWarning, __file__, 0))

    @staticmethod
    def _warn(config, warning, nodeid="", when="runtest"):
        """Has a warning shown in pytest's summary, also where a worker of pytest-xdist runs the
        test."""
        config.hook.pytest_warning_recorded.call_historic(
            kwargs=dict(warning_message=warning, nodeid=nodeid, when=when, location=None))

    # Items.

    def _note_order(self, session):
        """For each item on ranks: the next one on as many ranks."""
        self._following, latest = {}, {}
        self._files = sorted({str(item.path) for item in session.items if ranks_of_item(item)})
        for item in reversed(session.items):
            ranks = ranks_of_item(item)
            if ranks:
                self._following[item.nodeid] = latest.get(ranks, "none")
                latest[ranks] = item.nodeid

    def _run(self, item, nextitem, ranks):
        if self._following is None:
            self._note_order(item.session)
        following = self._following.get(item.nodeid, "unknown")
        if hasattr(self.config, "workerinput"):  # pytest-xdist gives a worker some items only
            following = "none" if nextitem is None else nextitem.nodeid if ranks_of_item(nextitem) == ranks else "unknown"
        begin = time.time()
        try:
            job = self._start(ranks)
            marker = item.get_closest_marker("mpi")
            timeout = float(marker.kwargs.get("timeout", self.timeout)) or None
            begin = time.time()
            answer = job.ask({"file": str(item.path), "nodeid": item.nodeid, "following": following}, timeout, self.grace or None)
        except (JobError, OSError) as error:
            reports = [_report(item, "setup", "failed", str(error))]
        except pytest.fail.Exception as error:  # another plugin's timeout
            self._jobs.pop(ranks, None)
            reports = [_report(item, "call", "failed", str(error))]
        except BaseException:
            self._jobs.pop(ranks, None)
            raise
        else:
            reports = self._reports(item, answer, ranks, time.time() - begin)
            failed = any(record.get("failed") for record in answer.records.values())
            left = [rank for rank, record in answer.records.items() if record.get("left")]
            if left:
                text = "messages were left on MPI_COMM_WORLD for %s by %s: its ranks end" % (the_ranks(left), item.nodeid)
                self._warn(self.config, warnings.WarningMessage(pytest.PytestWarning(text), pytest.PytestWarning, str(item.path),
                                                                (item.location[1] or 0) + 1), item.nodeid)
            if answer.trouble:
                self._jobs.pop(ranks)
            elif left or following == "none" or failed and "mpi_comm" not in item.fixturenames:
                self._end(ranks)
            leaving = [record["exit"] for record in answer.records.values() if record.get("exit")]
            if leaving:
                pytest.exit(leaving[0])
        try:
            item.session._setupstate.teardown_exact(nextitem)
        except Exception as error:
            reports.append(_report(item, "teardown", "failed", "the end of fixtures of pytest's own process: %r" % error))
        return reports

    def _reports(self, item, answer, ranks, duration):
        self._pass_on_warnings(item, answer)
        phases = {"setup": {}, "call": {}, "teardown": {}}
        for rank, record in answer.records.items():
            for data in record.get("reports", ()):
                report = self.config.hook.pytest_report_from_serializable(config=self.config, data=data)
                if isinstance(report.longrepr, list):
                    report.longrepr = tuple(report.longrepr)
                phases[report.when][rank] = report
        errors = {rank: record["error"] for rank, record in answer.records.items() if record.get("error")}
        texts = [_errors_text(errors, ranks)] if errors else []
        texts += [_trouble_text(answer, ranks)] if answer.trouble else []
        if texts:
            when = "call" if any(phases["setup"].values()) or not errors else "setup"
            reports = self._after_trouble(item, phases, ranks, "\n".join(texts), when, duration, answer.outputs)
        else:
            reports = self._after_all(item, phases, ranks)
        deadlock = answer.trouble and answer.trouble.kind == "deadlock"
        lines = [line for line in answer.lines if not deadlock or not line[1].startswith(("fgmpi: deadlock", "fgmpi:   "))]
        printed = _printed(lines) if self.config.getoption("capture", "fd") != "no" else ""
        if printed:
            reports[-1].sections.append(("Printed by the job", printed))
            for report in reports:
                if report.outcome == "failed" and report is not reports[-1]:
                    report.sections.append(("Printed by the job", printed))
        return reports

    def _after_all(self, item, phases, ranks):
        """The reports where all ranks have carried out the test."""
        reports = []
        for when in ("setup", "call", "teardown"):
            found = phases[when]
            if not found or when == "call" and reports[0].outcome == "failed":
                continue
            kinds = {rank: merge.kind(report) for rank, report in found.items()}
            result = merge.outcome(set(kinds.values()))
            chosen = {rank: report for rank, report in found.items() if kinds[rank] == result}
            first = next(iter(chosen.values()))
            report = _report(item, when, first.outcome, first.longrepr, max(report.duration for report in found.values()),
                             merge.sections(found))
            if hasattr(first, "wasxfail"):
                report.wasxfail = first.wasxfail
            if result == "failed":
                if when == "setup":
                    chosen.update({rank: report for rank, report in phases["call"].items() if merge.kind(report) == "failed"})
                report.longrepr = merge.failures_text(chosen, ranks)
            skipped = {rank: merge.skip_reason(report) for rank, report in found.items() if kinds[rank] == "skipped"}
            if result == "skipped" and len(set(skipped.values())) > 1:
                report.longrepr = first.longrepr[:2] + ("; ".join("[%s] %s" % (the_ranks(some).split()[1], text)
                                                                  for some, text in joined(skipped)),)
            elif skipped and result != "skipped":
                report.sections.append(("Skipped on some ranks", joined_text(skipped)))
            report.user_properties = _properties(found)
            reports.append(report)
        return reports

    def _after_trouble(self, item, phases, ranks, text, when, duration, outputs):
        """The reports where some ranks have not: what has failed is shown first, then where the
        others were."""
        every = [report for found in phases.values() for report in found.values()]
        failed = {}
        for found in phases.values():
            for rank, report in found.items():
                if merge.kind(report) in ("failed", "xfailed") and rank not in failed:
                    failed[rank] = report
        if any(report.outcome == "failed" for report in phases["setup"].values()):
            when = "setup"
        collected = {}
        for rank in set(rank for found in phases.values() for rank in found):
            collected[rank] = _WithSections([section for found in phases.values() if rank in found
                                             for section in found[rank].sections])
        for rank in set(outputs) - set(collected):
            collected[rank] = _WithSections([("Captured output until then", outputs[rank])])
        report = _report(item, when, "failed", merge.failures_text(failed, ranks, text), duration, merge.sections(collected))
        expected = [report.wasxfail for report in every if merge.kind(report) == "xfailed"]
        if not expected:
            expected = _expected_failure(item)
        if expected:
            report.outcome, report.wasxfail = "skipped", expected[0]
        reports = [report] if when == "setup" else [_report(item, "setup", "passed"), report]
        return reports + [_report(item, "teardown", "passed")]

    def _pass_on_warnings(self, item, answer):
        """Warnings of ranks are shown in pytest's summary, once for all ranks."""
        seen = set()
        for record in answer.records.values():
            for module, name, text, filename, line, when in record.get("warnings", ()):
                if (text, filename, line) in seen:
                    continue
                seen.add((text, filename, line))
                category = getattr(sys.modules.get(module), name, UserWarning)
                try:
                    caught = warnings.WarningMessage(category(text), category, filename, line)
                except Exception:
                    caught = warnings.WarningMessage(UserWarning(text), UserWarning, filename, line)
                self._warn(self.config, caught, item.nodeid, when)


class _WithSections:
    def __init__(self, sections):
        self.sections = sections


def _report(item, when, outcome, longrepr=None, duration=0, sections=()):
    return TestReport(item.nodeid, item.location, {name: 1 for name in item.keywords}, outcome, longrepr, when, list(sections),
                      duration, list(item.user_properties))


def _properties(reports):
    """Properties that ranks have recorded, those that are equal once."""
    found = []
    for rank in sorted(reports):
        for pair in reports[rank].user_properties:
            if tuple(pair) not in found:
                found.append(tuple(pair))
    return found


def _expected_failure(item):
    """Where the test is marked with xfail: the reason."""
    try:
        from _pytest.skipping import evaluate_xfail_marks

        expected = evaluate_xfail_marks(item)
    except Exception:
        return []
    return [expected.reason] if expected and not item.config.getoption("runxfail", False) and expected.raises is None else []


def _errors_text(errors, ranks):
    return "\n".join("---- %s of %d: %s ----\n%s" % (the_ranks(some), ranks, text.strip().split("\n")[-1], text)
                     for some, text in joined(errors))


def _trouble_text(answer, ranks):
    """What happened, and where the ranks were that have not answered."""
    trouble = answer.trouble
    missing = [rank for rank in range(ranks) if rank not in answer.records]
    names = {"deadlock": "a deadlock", "timeout": "timeout", "grace": "some ranks go on", "ended": "the job has ended",
             "interrupted": "interrupted"}
    lines = ["---- %s: %s ----" % (names[trouble.kind], "all ranks have ended the test" if not missing else
                                   "%s of %d did not end the test" % (the_ranks(missing), ranks)), trouble.text]
    if trouble.kind == "ended":
        lines += [line for _, line in answer.lines if "fgmpi: " in line][:20]
    if trouble.places:
        lines += ["", "where they are (the innermost call first):", places_text(trouble.places)]
    if trouble.calls:
        lines += ["", "what fgmpi-info says of all:", trouble.calls.rstrip()]
    lines += ["", "The ranks are started anew for the next test."]
    return "\n".join(lines)


def _printed(lines):
    """What the job has printed itself, past Python's streams, by rank."""
    kept = [line for _, line in lines if not line.startswith(_HYDRA) and not _STACK.match(line) and line.strip()]
    texts, others = by_rank(kept)
    return joined_text(texts) + "".join(line + "\n" for line in others)


def _check_mpi4py():
    """Refuses an mpi4py for another MPI library, where tests have imported it, before each rank
    does."""
    module = sys.modules.get("mpi4py")
    wrong = foreign_mpi4py(pathlib.Path(module.__file__).parent) if getattr(module, "__file__", None) else None
    if wrong:
        raise JobError(wrong)
