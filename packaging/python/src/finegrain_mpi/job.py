"""A job of ranks that wait for commands: started, asked, watched and ended from an ordinary Python
process.

`Job.ask` sends a command to all ranks and returns an `Answer`: what each rank has answered, and,
where the command did not end on all ranks, why not (`Answer.trouble`). The job has ended then. A
command does not end when the ranks are in a deadlock (which the library detects), when it takes too
long, when the job dies, or when the caller is interrupted.

Thread rule: a Job belongs to the thread that has made it; threads of its own only read the job's
output."""

import json
import os
import queue
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from .rank import WHERE_SIGNAL
from .words import joined, shortened, the_ranks

# Files and threads are looked at that often, in seconds.
_TICK = 0.1
# After the answers, output is waited for until none has come for so long, in seconds.
_SETTLE = 0.02
# What a command prints past Python's own streams is kept up to this number of characters.
_OUTPUT_LIMIT = 1 << 18
# A job that ends by itself (deadlock, crash) gets so long to say all that it has to say, in
# seconds.
_LAST_WORDS = 2.0
# Variables of launchers, which would make the new job think that it is a part of another one.
_LAUNCHERS = re.compile(r"^(PMI_|PMIX_|HYDI?_|MPI_LOCAL|HYDRA_HOST_FILE$|FGMPI_NFG$|FGMPI_RANKS$|FGMPI_DEADLOCK$)")


class JobError(Exception):
    """The job cannot be started: the text says what is missing."""


class Tools:
    """mpiexec, fgmpi-python and fgmpi-info of one installation."""

    def __init__(self, mpiexec=None):
        """`mpiexec` is a command with options, in place of the mpiexec that stands beside
        fgmpi-python."""
        command = shlex.split(mpiexec) if mpiexec else []
        beside = command and shutil.which(command[0])
        if command and not beside:
            raise JobError("%s is not found: name Finegrain MPI's mpiexec (option --mpiexec)" % command[0])
        python = beside and _beside(beside, "fgmpi-python")
        python = python or _own_python() or shutil.which("fgmpi-python")
        if not python:
            raise JobError("fgmpi-python is not found: put Finegrain MPI's bin folder into PATH. It is built where libpython's "
                           "headers are installed (Debian: libpython3-dev)")
        self.python = python
        self.info = _beside(python, "fgmpi-info")
        if not command:
            found = _beside(python, "mpiexec")
            if not found:
                raise JobError("mpiexec is not found beside %s: name it (option --mpiexec)" % python)
            command = [found]
        self.mpiexec = command

    def check_version(self):
        """fgmpi-python must be the Python that this process runs, since its ranks use the same
        packages."""
        try:
            done = subprocess.run([self.python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], env=_environment(),
                                  capture_output=True, text=True, timeout=60)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise JobError("%s does not run: %s" % (self.python, error)) from error
        version = done.stdout.strip()
        if done.returncode or not version:
            raise JobError("%s does not run: %s" % (self.python, done.stderr.strip()))
        if version != "%d.%d" % sys.version_info[:2]:
            raise JobError("%s is Python %s, and this is Python %d.%d: the ranks use packages of this one, so the versions must be "
                           "the same" % ((self.python, version) + sys.version_info[:2]))


def _own_python():
    """The fgmpi-python that this package's wheel has put into the environment, which holds the
    package in lib/pythonX.Y/site-packages; None where the package is installed without one."""
    folder = os.path.dirname(os.path.abspath(__file__))
    for _ in range(4):
        folder = os.path.dirname(folder)
    path = os.path.join(folder, "bin", "fgmpi-python")
    return path if os.access(path, os.X_OK) else None


def _beside(program, name):
    for folder in (os.path.dirname(program), os.path.dirname(os.path.realpath(program))):
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK):
            return path
    return None


def _environment():
    environment = {name: value for name, value in os.environ.items() if not _LAUNCHERS.match(name)}
    # A deadlock is reported and the job goes on, so that it can be asked where its ranks are.
    environment["FGMPI_DEADLOCK"] = "report"
    # The ranks run on this host, whatever hosts a batch system has given.
    environment.update(HYDRA_RMK="user", HYDRA_LAUNCHER="ssh")
    return environment


def default_processes(ranks):
    """One process a core; workers of pytest-xdist share the cores."""
    cores = len(os.sched_getaffinity(0))
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT") or 1)
    return max(1, min(ranks, cores // workers))


def check_memory(ranks, each):
    """Refuses a job whose ranks, of `each` bytes, would fill the memory: the system would end
    processes at random."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            free = int(re.search(r"MemAvailable: *(\d+)", file.read()).group(1)) << 10
    except (OSError, AttributeError):
        return
    # The limit of the control group, as of a container.
    group = re.search(r"^0::(/.*)$", _text("/proc/self/cgroup"), re.M)
    while group:
        folder = "/sys/fs/cgroup" + group.group(1).rstrip("/")
        limit, used = _text(folder + "/memory.max").strip(), _text(folder + "/memory.current").strip()
        if limit.isdigit() and used.isdigit():
            cache = re.search(r"^inactive_file (\d+)$", _text(folder + "/memory.stat"), re.M)
            free = min(free, max(int(limit) - int(used) + int(cache.group(1) if cache else 0), 0))
        group = re.match(r"(/.*)/", group.group(1).rstrip("/"))
    if ranks * each > free:
        raise JobError("%d ranks of Python need about %.1f GB of memory, and %.1f GB are available: at most %d ranks would fit" % (
            ranks, ranks * each / 1e9, free / 1e9, free // each))


class Trouble:
    """Why a command did not end on all ranks. `kind` is deadlock, timeout, grace, ended or
    interrupted."""

    def __init__(self, kind, text):
        self.kind = kind
        self.text = text
        # Where ranks were that had not answered: a dict from ranks to texts, and what fgmpi-info
        # says of all.
        self.places = {}
        self.calls = ""


class Answer:
    """Answers of ranks by rank, what the job printed meanwhile as (stream, line), and the trouble,
    if any."""

    def __init__(self):
        self.records = {}
        self.lines = []
        # What servers have written into the files output-NUMBER-RANK, by rank.
        self.outputs = {}
        self.trouble = None


class Job:
    def __init__(self, ranks, server, start, processes=None, tools=None, echo=None, folder=None):
        """Starts a job of `ranks` ranks in `processes` processes. Each runs the class Server of the
        module `server`, which gets the dict `start`. `echo`, if given, is called with (stream,
        line) for what the job prints. `folder` is the working folder of the ranks."""
        self.ranks = ranks
        self.processes = processes or default_processes(ranks)
        self.pids = set()
        self.ended = False
        self._tools = tools or Tools()
        self._echo = echo
        self._working_folder = folder
        self._number = 0
        self._events = queue.Queue()
        self._lines = []
        self._printed = 0
        self._lock = threading.Lock()
        self._connection = None
        self._process = None
        self._readers = []
        # Names of sockets have 108 characters at most.
        self._folder = tempfile.mkdtemp(prefix="finegrain-mpi-", dir="/tmp" if len(tempfile.gettempdir()) > 70 else None)
        self._listener = socket.socket(socket.AF_UNIX)
        try:
            self._start(server, start)
        except BaseException:
            self.kill()
            raise

    def _start(self, server, start):
        sites = [path for path in sys.path if path.endswith("site-packages")] if sys.prefix != sys.base_prefix else []
        here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        path = [os.path.abspath(entry or os.getcwd()) for entry in sys.path]
        path += [here] if here not in path else []
        with open(os.path.join(self._folder, "start.json"), "w", encoding="utf-8") as file:
            json.dump(dict(start, server=server, path=path, sites=sites), file)
        self._listener.bind(os.path.join(self._folder, "control"))
        self._listener.listen(1)
        scripts = os.path.dirname(os.path.abspath(__file__))
        command = [sys.executable or self._tools.python, "-ES", os.path.join(scripts, "launch.py"), str(os.getpid())]
        command += self._tools.mpiexec + ["-prepend-rank", "-n", str(self.processes), "-ranks", str(self.ranks)]
        command += [self._tools.python, os.path.join(scripts, "rank.py"), self._folder]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                         env=_environment(), start_new_session=True, cwd=self._working_folder)
        self._readers = [threading.Thread(target=self._read, args=(name, stream), daemon=True)
                         for name, stream in (("stdout", self._process.stdout), ("stderr", self._process.stderr))]
        for reader in self._readers:
            reader.start()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        try:
            connection = self._listener.accept()[0]
        except OSError:
            return
        self._events.put(("connected", connection))
        try:
            with connection.makefile("rb") as lines:
                for line in lines:
                    self._events.put(("done", json.loads(line)["done"]))
        except (OSError, ValueError):
            pass

    def _read(self, name, stream):
        for data in stream:
            line = data.decode("utf-8", "replace").rstrip("\n")
            with self._lock:
                if self._echo:
                    self._echo(name, line)
                self._printed += len(line)
                if self._printed <= _OUTPUT_LIMIT or name == "stderr" and line.startswith("fgmpi: "):
                    self._lines.append((name, shortened(line, _OUTPUT_LIMIT)))
            if name == "stderr" and line.startswith("fgmpi: deadlock:"):
                self._events.put(("deadlock", None))

    def hello(self, timeout):
        """Waits until all ranks have started. REQUIRES: called once, before the first `ask`."""
        try:
            answer = self._wait(0, timeout, None)
        except BaseException:
            self.kill()
            raise
        self.pids = {record["pid"] for record in answer.records.values()}
        return answer

    def ask(self, command, timeout=None, grace=None, interrupt=None):
        """Sends a command, a dict, to all ranks, and waits for the answers. `grace` is how many
        seconds ranks get when another has answered with a true value for "failed". `interrupt`, if
        given, is how many seconds ranks get to end the command after a KeyboardInterrupt here;
        without it the interrupt is raised again, and the job is killed."""
        self._number += 1
        with self._lock:
            self._lines, self._printed = [], 0
        try:
            self._connection.sendall((json.dumps(dict(command, number=self._number)) + "\n").encode())
        except (OSError, AttributeError):
            pass  # the job has died: _wait says how
        try:
            return self._wait(self._number, timeout, grace, interrupt)
        except BaseException:
            self.kill()
            raise

    def _wait(self, number, timeout, grace, interrupt=None):
        answer = Answer()
        results = os.path.join(self._folder, "results-%d" % number)
        begin = time.monotonic()
        deadline = begin + timeout if timeout else None
        failed_at = interrupted_at = None
        offset, done = 0, False
        while True:
            try:
                kind, value = self._events.get(timeout=_TICK)
            except queue.Empty:
                kind, value = None, None
            except KeyboardInterrupt:
                if interrupt is None or interrupted_at:
                    raise
                interrupted_at = sent_at = time.monotonic()
                # Ranks that have not begun the command find the file.
                with open(os.path.join(self._folder, "interrupt-%d" % number), "w"):
                    self._signal(signal.SIGINT)
                continue
            if kind == "connected":
                self._connection = value
            elif kind == "done":
                done = value == number
            elif kind == "deadlock" and not answer.trouble:
                answer.trouble = self._deadlock(results, answer.records)
            offset = _read_records(results, offset, answer.records)
            if done:
                self._wait_for_output()
                break
            now = time.monotonic()
            if interrupted_at and now > sent_at + 1:
                sent_at = now
                self._signal(signal.SIGINT)
            if failed_at is None and any(record.get("failed") for record in answer.records.values()):
                failed_at = now
            if answer.trouble:
                pass
            elif self._process.poll() is not None:
                answer.trouble = self._death()
            elif deadline and now > deadline:
                answer.trouble = Trouble("timeout", "it did not end within %g s" % timeout)
            elif interrupted_at and now > interrupted_at + interrupt:
                answer.trouble = Trouble("interrupted", "interrupted; some ranks did not end within %g s" % interrupt)
            elif failed_at and grace is not None and now > failed_at + grace and len(answer.records) < self.ranks:
                answer.trouble = Trouble("grace", "%s failed, and others did not end within %g s after that" % (
                    the_ranks([rank for rank, record in answer.records.items() if record.get("failed")]), grace))
            if answer.trouble:
                if answer.trouble.kind != "ended":
                    self._ask_where(answer)
                self._kill_processes()
                _read_records(results, offset, answer.records)
                if answer.trouble.kind == "ended":
                    self._read_crashes(answer)
                break
        with self._lock:
            answer.lines = self._lines
            if self._printed > _OUTPUT_LIMIT:
                answer.lines.append(("stdout", "... %d characters of output are left out" % (self._printed - _OUTPUT_LIMIT)))
        for name in os.listdir(self._folder):
            match = re.fullmatch(r"output-%d-(\d+)" % number, name)
            if match:
                path = os.path.join(self._folder, name)
                answer.outputs[int(match.group(1))] = _text(path, _OUTPUT_LIMIT)
                _remove(path)
        if self.ended:
            shutil.rmtree(self._folder, ignore_errors=True)
        else:
            _remove(results)
        return answer

    def _wait_for_output(self):
        """What ranks print past Python's streams comes through mpiexec, a little later than their
        answers."""
        for _ in range(20):
            printed = self._printed
            time.sleep(_SETTLE)
            if self._printed == printed:
                return

    def _join_readers(self):
        """After the end of the job: waits until its output has been read."""
        for reader in self._readers:
            reader.join(_LAST_WORDS)
        for reader, stream in zip(self._readers, (self._process.stdout, self._process.stderr)):
            if not reader.is_alive():
                stream.close()

    def _deadlock(self, results, records):
        """Takes the lines of the library's report, which come together, and joins equal ones. Ranks
        that have answered wait for the others, in a barrier that is no part of the command: their
        lines are left out."""
        time.sleep(3 * _TICK)
        _read_records(results, 0, records)
        with self._lock:
            lines = [line[7:] for stream, line in self._lines if stream == "stderr" and line.startswith("fgmpi: ")]
        begin = next((number for number, line in enumerate(lines) if line.startswith("deadlock:")), 0)
        texts, kept = {}, []
        for line in lines[begin:]:
            match = re.match(r"  rank (\d+) in (.*)", line)
            if match and int(match.group(1)) not in records:
                texts[int(match.group(1))] = "in " + re.sub(r" \(rank \d+ of \d+\)", "", match.group(2))
            elif not match:
                kept.append(line)
        kept[1:1] = ["  %s %s" % (the_ranks(ranks), text) for ranks, text in joined(texts)]
        return Trouble("deadlock", "\n".join(kept))

    def _death(self):
        """The job has ended without being asked. Its last lines say why."""
        self.ended = True
        self._join_readers()
        status = self._process.returncode
        text = "the job has ended with status %d" % status if status >= 0 else "the job was ended by signal %d" % -status
        return Trouble("ended", text)

    def _ask_where(self, answer):
        """Fills in where the ranks are that have not answered."""
        trouble = answer.trouble
        missing = [rank for rank in range(self.ranks) if rank not in answer.records]
        if self._tools.info and trouble.kind != "deadlock":
            try:
                info = subprocess.run([self._tools.info, "-job", str(self._process.pid)], capture_output=True, text=True,
                                      timeout=10, env=_environment())
                trouble.calls = info.stdout if info.returncode == 0 else ""
            except (OSError, subprocess.TimeoutExpired):
                pass
        self._signal(WHERE_SIGNAL)
        end = time.monotonic() + _LAST_WORDS
        while missing and time.monotonic() < end:
            sizes = [_size(os.path.join(self._folder, "where-%d" % rank)) for rank in missing]
            if all(sizes):
                break
            time.sleep(_TICK / 2)
        time.sleep(_TICK / 2)
        for rank in missing:
            trouble.places[rank] = _place(_text(os.path.join(self._folder, "where-%d" % rank))) or \
                "has ended without a word (os._exit?), or does not answer"

    def _read_crashes(self, answer):
        for rank in range(self.ranks):
            text = _text(os.path.join(self._folder, "where-%d" % rank))
            if text:
                answer.trouble.places[rank] = _place(text)

    def alive(self):
        return not self.ended and self._process.poll() is None

    def _signal(self, number):
        for pid in self.pids:
            try:
                with open("/proc/%d/cmdline" % pid, "rb") as file:
                    if self._folder.encode() in file.read():  # the number may be another process's by now
                        os.kill(pid, number)
            except OSError:
                pass

    def end(self, timeout=10):
        """Ends the job in order: servers of ranks do what they have to do at their end. Returns
        what they answer."""
        answer = Answer()
        if not self.ended and self._connection:
            with self._lock:
                self._lines, self._printed = [], 0
            results = os.path.join(self._folder, "results-%d" % self._number)
            try:
                self._connection.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # it has died
            deadline = time.monotonic() + timeout
            while self._process.poll() is None and not answer.trouble:
                try:
                    if self._events.get(timeout=_TICK / 4)[0] == "deadlock":
                        answer.trouble = self._deadlock(results, answer.records)
                except queue.Empty:
                    if time.monotonic() > deadline:
                        answer.trouble = Trouble("timeout", "the ranks did not end within %g s" % timeout)
            _read_records(results, 0, answer.records)
            if answer.trouble:
                self._ask_where(answer)
        self.kill()
        with self._lock:
            answer.lines = self._lines if self._process.returncode >= 0 else []
        return answer

    def kill(self):
        """Ends the job at once."""
        self._kill_processes()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _kill_processes(self):
        self.ended = True
        self._listener.close()
        if self._process:
            for number in (signal.SIGTERM, signal.SIGKILL):
                if self._process.poll() is None:
                    try:
                        os.killpg(self._process.pid, number)
                        self._process.wait(_LAST_WORDS)
                    except (OSError, subprocess.TimeoutExpired):
                        pass
            self._signal(signal.SIGKILL)
            self._join_readers()
        if self._connection:
            self._connection.close()

    def __del__(self):
        if not self.ended:
            self.kill()


def _read_records(name, offset, records):
    """Reads the answers behind `offset`, and returns where the next ones begin."""
    try:
        with open(name, "rb") as file:
            file.seek(offset)
            data = file.read()
    except OSError:
        return offset
    whole = data.rfind(b"\n") + 1
    for line in data[:whole].splitlines():
        record = json.loads(line)
        records.setdefault(record["rank"], {}).update(record)
    return offset + whole


def _remove(name):
    try:
        os.unlink(name)
    except OSError:
        pass


def _size(name):
    try:
        return os.stat(name).st_size
    except OSError:
        return 0


def _text(name, limit=1 << 20):
    """A file's text; of a longer one the beginning and the end."""
    try:
        with open(name, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size <= limit:
                return file.read().decode("utf-8", "replace")
            head = file.read(limit // 2).decode("utf-8", "replace")
            file.seek(size - limit // 2)
            return "%s\n... %d bytes are left out ...\n%s" % (head, size - limit, file.read().decode("utf-8", "replace"))
    except OSError:
        return ""


_FRAME = re.compile(r'^  File "(?P<file>[^"]*)", line (?P<line>\d+) in (?P<name>.*)$')
# Frames below the test or the cell: those of this package, of pytest and of what calls its hooks.
_BELOW = re.compile(r"/(finegrain_mpi|_pytest|pluggy)/|^<frozen runpy>")


def _place(text):
    """Shortens a report of faulthandler to the frames of the test or cell, the innermost first,
    with their sources."""
    import linecache

    lines = []
    below, last, repeated = False, None, 0
    waits = re.search(r"^  File .*/finegrain_mpi/mpi.py.* in (\w+)$", text.partition("\n")[2].partition("\n")[0])
    if waits and waits.group(1) == "broadcast":
        return "has not begun: another rank of its process does not give way"
    if waits:
        return "waits for the others to end"
    for line in text.splitlines():
        match = _FRAME.match(line)
        if not match:
            below = False
            # Numbers of threads differ from rank to rank, which tells nothing.
            line = re.sub(r"^(Current thread|Thread) 0x[0-9a-f]+( \[[^]]*\])?", "thread", line)
            if line.startswith("Extension modules:"):
                continue
            if line and line != "thread (most recent call first):":
                lines.append(line)
            elif line and any(line.startswith("    ") for line in lines):
                lines.append("another thread:")
            continue
        below = below or bool(_BELOW.search(match["file"])) and bool(lines)
        if below:
            continue
        frame = "%s:%s: in %s" % (match["file"], match["line"], match["name"])
        repeated = repeated + 1 if frame == last else 0
        last = frame
        if repeated == 3:
            lines.append("    ... and so on")
        if repeated >= 3:
            continue
        lines.append(frame)
        source = linecache.getline(match["file"], int(match["line"])).strip()
        if source:
            lines.append("    " + source)
    return shortened("\n".join(lines), 4000)


def places_text(places, limit=10):
    """Where ranks are, those at the same place together."""
    lines = []
    groups = joined(places)
    for ranks, text in groups[:limit]:
        lines.append("%s:" % the_ranks(ranks))
        lines += ["    " + line for line in text.splitlines()]
    if len(groups) > limit:
        rest = [rank for ranks, _ in groups[limit:] for rank in ranks]
        lines.append("%s: at %d other places" % (the_ranks(rest), len(groups) - limit))
    return "\n".join(lines)
