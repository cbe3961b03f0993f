"""pytest in a rank: it collects the files of the tests that it is asked for, runs these, and
answers with their reports.

Plugins see a worker (config.workerinput), as with pytest-xdist: such a pytest writes no cache and
no JUnit file."""

import io
import os
import pickle
import re
import sys
import traceback
from pathlib import Path

import pytest
from _pytest import capture
from _pytest._io import TerminalWriter
from _pytest.config import get_config
from _pytest.reports import TestReport

from .words import shortened

# These plugins would act on the whole process, whose ranks are not alone in it, or do what the main
# pytest does.
_BLOCKED = ("terminal", "faulthandler", "xdist", "xdist.looponfail", "timeout", "pytest_timeout", "pytest_cov", "pastebin",
            "debugging", "stepwise", "rerunfailures", "html", "pytest_reportlog")
# Options of the main pytest that mean nothing in a rank, which runs what it is asked for.
_OVERRIDDEN = dict(lf=False, failedfirst=False, newfirst=False, stepwise=False, stepwise_skip=False, usepdb=False, trace=False,
                   collectonly=False, setuponly=False, setupshow=False, setupplan=False, keyword="", markexpr="", deselect=None,
                   xmlpath=None, pastebin=None, numprocesses=None, maxprocesses=None, dist="no", tx=[], maxfail=0, cacheclear=False,
                   cacheshow=None, durations=None, strict_config=False, strict_markers=False, strict=False, looponfail=False,
                   doctestmodules=False, report_log=None, htmlpath=None)
_SECTION_LIMIT = 1 << 16


class _NoTerminal:
    """Plugins may ask for the terminal's writer, to colour texts."""

    def __init__(self, config):
        self._tw = TerminalWriter(io.StringIO())
        self.verbosity = getattr(config.option, "verbose", 0)


class _NotCollected(Exception):
    """A rank does not have a test that the main pytest has."""


class _Kept:
    """Stands for the next test where only its collectors are known: fixtures of these are kept."""

    def __init__(self, collectors):
        self._collectors = collectors

    def listchain(self):
        return self._collectors


class _Captured(capture.CaptureIO):
    """What Python prints is kept in memory by pytest, and in a file, too, for ranks that do not end
    the test."""

    channel = None
    written = (0, 0)

    def write(self, text):
        number, size = _Captured.written
        if number != self.channel.number:
            number, size = self.channel.number, 0
        if size < _SECTION_LIMIT:
            _Captured.written = number, size + len(text)
            name = os.path.join(self.channel.folder, "output-%d-%d" % (number, self.channel.mpi.rank))
            with open(name, "a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text[:_SECTION_LIMIT])
        return super().write(text)


def _error_text():
    """The exception that is handled now, without the frames of pytest."""
    error = traceback.TracebackException(*sys.exc_info())
    kept = [frame for frame in error.stack if not re.search(r"/(_pytest|pluggy|finegrain_mpi)/", frame.filename)]
    error.stack = traceback.StackSummary.from_list(kept) if kept else error.stack
    return "".join(error.format())


class Server:
    def __init__(self, channel, start):
        self.channel = channel
        self.mpi = channel.mpi
        self._items = {}
        self._uncollected, self._skipped = {}, {}
        self._warnings = []
        self._reports = []
        self._paths = start["files"]
        options = pickle.loads(bytes.fromhex(start["options"]))
        options.update(_OVERRIDDEN, basetemp=os.path.join(start["basetemp"], "rank%d" % self.mpi.rank))
        arguments = [word for name in _BLOCKED for word in ("-p", "no:" + name)]
        _Captured.channel = channel
        capture.CaptureIO = _Captured
        config = self.config = get_config(arguments, None)
        config.option.__dict__.update(options)
        config.finegrain_server = self
        config.workerinput = {"workerid": "mpi%d" % self.mpi.rank, "workercount": self.mpi.size, "mainargv": ["pytest"],
                              "testrunuid": start["run"]}
        config.workeroutput = {}
        config.parse(arguments + start["arguments"], addopts=False)
        for plugin in start["plugins"]:
            config.pluginmanager.consider_pluginarg(plugin)
        if not any(plugin.__name__ == "finegrain_mpi.pytest_plugin" for plugin in config.pluginmanager.get_plugins()
                   if hasattr(plugin, "__name__")):
            config.pluginmanager.import_plugin("finegrain_mpi.pytest_plugin")
        config.pluginmanager.register(_NoTerminal(config), "terminalreporter")
        config.pluginmanager.register(self, "finegrain-server")

    def serve(self):
        self.config.hook.pytest_cmdline_main(config=self.config)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session):
        """Lets other plugins prepare; files are collected one by one, when a test of theirs is
        asked for."""
        self._collect = session.perform_collect
        session.perform_collect = lambda *arguments, **named: []
        session.items = []
        # Assertions are rewritten in these files, whatever their names.
        session._initialpaths = frozenset(Path(path) for path in self._paths)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        for command in self.channel.commands():
            self._warnings, self._reports = [], []
            record = {"error": None, "exit": None}
            try:
                self._run(session, command)
            except pytest.exit.Exception as end:
                record["exit"] = str(end.msg)
            except _NotCollected as error:
                record["error"] = str(error)
            except BaseException:
                record["error"] = _error_text()
            record["warnings"] = self._warnings
            record["reports"] = [self._plain(report) for report in self._reports]
            record["failed"] = bool(record["error"]) or any(report.outcome == "failed" for report in self._reports)
            self.channel.write(record)
            self.mpi.barrier()
            if self.mpi.message_waits():
                self.channel.write({"left": True})
            self.channel.done()
        try:
            session._setupstate.teardown_exact(None)
        except BaseException:
            self.channel.write({"error": _error_text()})
        return True

    def pytest_runtest_logreport(self, report):
        self._reports.append(report)

    def pytest_collectreport(self, report):
        if report.failed:
            self._uncollected[report.nodeid] = str(report.longrepr)
        elif report.skipped:
            self._skipped[str(report.fspath)] = report.longrepr

    def pytest_warning_recorded(self, warning_message, when, nodeid, location):
        category = warning_message.category
        self._warnings.append([category.__module__, category.__name__, str(warning_message.message), warning_message.filename,
                               warning_message.lineno, when])

    def _run(self, session, command):
        try:
            item = self._item(session, command["file"], command["nodeid"])
        except _NotCollected:
            skips = list(self._skipped.values())
            if not skips or self._uncollected:
                raise
            # The file skips itself on this rank.
            return self._reports.append(TestReport(command["nodeid"], (command["file"], 0, ""), {}, "skipped", skips[0], "setup"))
        # Fixtures that were kept for a test that did not come end now.
        session._setupstate.teardown_exact(item)
        item.ihook.pytest_runtest_protocol(item=item, nextitem=self._following(session, item, command))

    def _item(self, session, path, nodeid):
        if path not in self._items:
            self._uncollected, self._skipped = {}, {}
            self._collect([path])
            self._items[path] = {item.nodeid: item for item in session.items}
        item = self._items[path].get(nodeid)
        if item is None:
            reasons = ["%s:\n%s" % found for found in self._uncollected.items()]
            raise _NotCollected("\n".join(reasons + ["%s is not among the tests of %s on this rank" % (nodeid, path)]))
        return item

    def _following(self, session, item, command):
        """What decides which fixtures end after this test: the next test on these ranks, None where
        this is the last one."""
        following = command["following"]
        if following == "none":
            return None
        if following == "unknown":
            return _Kept(item.listchain()[:-1])
        return self._items[command["file"]].get(following) or _Kept([session])

    def _plain(self, report):
        data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        data["sections"] = [(name, shortened(text, _SECTION_LIMIT)) for name, text in data["sections"]]
        return data
