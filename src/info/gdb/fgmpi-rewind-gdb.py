"""A recorded run in gdb: forwards and backwards through its MPI calls (events), its lines and its writes.

    fgmpi rewind FILE     visits the events (MPI calls) of a run that mpiexec -record has recorded
    fgmpi goto N|last, fgmpi back [N], fgmpi forward [N], fgmpi rank RANK, fgmpi events [RANK]
                          to event N; to the N-th one before or behind, of the same rank; to the last one of another rank; lists
    fgmpi sender [N]      from a receive, or a wait for one, to where its message was sent (the N-th one where there are several)
    fgmpi last-write VARIABLE  goes to where it was changed last before: the line and the rank
    fgmpi who-else ADDRESS  the ranks that have changed the bytes there (at most 8) before, each with its last line
    reverse-continue, reverse-step, reverse-next, reverse-finish
                          gdb's own words: to the last stop before, at the granularity of lines

`mpiexec -rewind FILE gdb` loads fgmpi-gdb.py and this script. The process of a moment is forked from a snapshot and runs forwards
to it, so going back is running forwards once more, from an earlier event, to the last stop before here.
"""

import os
import re
import struct
import subprocess

import gdb

# Libraries whose code is not the program's.
OTHERS = ("libmpi", "libfgmpi", "libc.", "libm.", "libstdc++", "libgcc_s", "libpthread", "ld-linux")
KINDS = {1: "char", 2: "short", 4: "int", 8: "long"}
REGISTERS = "rax rbx rcx rdx rsi rdi rbp r8 r9 r10 r11 r12 r13 r14 r15".split()
STACK_WORDS = 256  # words of the stack by which moments are told from each other
STOPPED = "fgmpi_rewind_stopped"  # the function in which a process stops where an event begins
VARIABLES = ["fgmpi_debug_table", *("fgmpi_rewind_" + name for name in ("events", "debugged", "stop_at", "check_at"))]
ADDRESSES = {}  # of the library's variables and functions
MOST_HITS = 50000  # stops of one way: some ten seconds


def watched_place(address, size):
    """The expression of bytes to be watched."""
    return "*(%s*)%#x" % (KINDS[size], address)


def program_frame():
    """Returns the innermost frame of the program, or None."""
    frame = gdb.newest_frame()
    while frame and not is_of_program(frame):
        frame = frame.older()
    return frame


def is_of_program(frame):
    symtab = frame.find_sal().symtab
    if symtab is None:
        return False
    module = symtab.objfile.owner or symtab.objfile  # symbols may be in a file of their own
    return not os.path.basename(module.filename).startswith(OTHERS)


def load_libraries():
    """Reads the symbols of the libraries."""
    with Quietly():
        gdb.execute("sharedlibrary", to_string=True)


def has_stopped():
    return gdb.newest_frame().pc() == address_of(STOPPED)


def select_program():
    """Selects the innermost frame of the program, and prints it."""
    load_libraries()
    frame = program_frame()
    if frame:
        frame.select()
    show_frame()


def show_frame():
    gdb.execute("frame")
    gdb.execute("display")


def leave_call():
    """Where an event has just begun: lets the MPI call return, so that gdb steps on in the program."""
    if not gdb.selected_inferior().pid or not has_stopped():
        return
    program = program_frame()
    if program and program.newer():
        program.newer().select()
        with Quietly():
            gdb.execute("finish", to_string=True)


def register(frame, name):
    return int(frame.read_register(name)) & 0xFFFFFFFFFFFFFFFF


def address_of(name):
    """The address of a variable or function of the library, which is the same in all processes of a run."""
    if name not in ADDRESSES:
        ADDRESSES[name] = int(gdb.parse_and_eval("(unsigned long)&" + name))
    return ADDRESSES[name]


def top_of(frame):
    """The stack pointer behind the frame's call, which says which call it is; 0 for the outermost one."""
    caller = frame.older()
    return register(caller, "rsp") if caller else 0


def read_stack(sp):
    """The last words of the stack, fewer where it ends."""
    words = STACK_WORDS
    while words > 1:
        try:
            return read(sp, 8 * words)
        except gdb.MemoryError:
            words //= 2
    return b""


class Here:
    """The moment at which the process stands: so many events have begun, and these are the registers and the stack."""

    def __init__(self, visit):
        self.ended = not gdb.selected_inferior().pid
        if self.ended:
            self.event, self.begins, self.rank = visit.event, False, visit.rank
            return
        frame = gdb.newest_frame()
        self.event, self.rank = visit.event_now(), visit.running_rank()
        self.begins = has_stopped()  # the event has just begun
        self.pc, self.sp = frame.pc(), register(frame, "rsp")
        self.registers, self.stack = [register(frame, name) for name in REGISTERS], read_stack(self.sp)

    def likeness(self, frame):
        """How like a moment at the same instruction is, in words that are equal. Words that nobody has initialised may differ
        from process to process, so the most similar moment is this one."""
        if register(frame, "rsp") != self.sp:
            return 0
        equal = sum(1000 for name, value in zip(REGISTERS, self.registers) if register(frame, name) == value)
        stack = read(self.sp, len(self.stack))
        return 1 + equal + sum(stack[i : i + 8] == self.stack[i : i + 8] for i in range(0, len(stack), 8))


class BeginOf:
    """The moment at which an event begins."""

    def __init__(self, event):
        self.event, self.begins, self.ended = event, True, False


class Way:
    """A way from an event to a later moment: all that it passes, in order. Following it again, it stops at a step of it."""

    def __init__(self, wanted=None):
        self.passed, self.wanted, self.reached = [], wanted, False

    def is_cut(self):
        return len(self.passed) >= MOST_HITS and not self.reached

    def add(self, step):
        """Notes what is passed. Returns whether the way ends here."""
        self.passed.append(step)
        self.reached = self.reached or len(self.passed) == self.wanted
        return self.reached or self.is_cut()


class PassedPlace(gdb.Breakpoint):
    """A place, or a write, that a way passes; `step_of(frame)` returns what is noted, or None."""

    def __init__(self, way, place, step_of, watches=False):
        if watches:
            super().__init__(place, gdb.BP_WATCHPOINT, gdb.WP_WRITE, internal=True)
        else:
            super().__init__("*%#x" % place, internal=True)
        self.silent, self.way, self.step_of = True, way, step_of

    def stop(self):
        step = self.step_of(gdb.newest_frame())
        return step is not None and self.way.add(step)


class Marks:
    """The places that a way notes: functions that make its breakpoints. `by_user`: it stops at the user's breakpoints, too."""

    def __init__(self, make, by_user=False):
        self.make, self.by_user = make, by_user


class Visit:
    """A recorded run, whose processes `mpiexec -rewind FILE -goto EVENT` keeps: it names one that waits at the event."""

    def __init__(self, mpiexec, recording):
        self.mpiexec = subprocess.Popen(
            [mpiexec, "-rewind", recording, "-goto", "last"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            preexec_fn=os.setpgrp  # Ctrl-C is for gdb
        )
        gdb.execute("handle SIGSYS nostop noprint pass", to_string=True)
        # Steps over breakpoints would be made in a copy of the instruction at the program's entry, which gdb does not find in each
        # of the processes.
        gdb.execute("set displaced-stepping off")
        self.event = self.rank = 0
        self.first_events = {}
        self.show(self.answer())

    def answer(self):
        line = self.mpiexec.stdout.readline()
        if not line:
            raise gdb.GdbError("mpiexec -rewind has ended")
        return line.rstrip("\n")

    def ask(self, line):
        self.mpiexec.stdin.write(line + "\n")
        self.mpiexec.stdin.flush()
        return self.answer()

    def attach(self, answer):
        """Goes on in the process that an answer names: "at N of M: rank R CALL ... at LINE: process PID, in S s"."""
        found = re.match(r"at (\d+) of \d+: rank (-?\d+) .*: process (\d+), in ", answer)
        if not found:
            raise gdb.GdbError(answer)
        with Quietly():
            if gdb.selected_inferior().pid:
                gdb.execute("kill", to_string=True)
            # The symbols of the libraries are read where a way ends: it takes some tenths of a second.
            gdb.execute("set auto-solib-add " + ("off" if ADDRESSES else "on"))
            gdb.execute("attach " + found.group(3), to_string=True)
            gdb.execute("set auto-solib-add on")
            for name in (STOPPED, *VARIABLES):
                address_of(name)
            self.event, self.rank = int(found.group(1)), int(found.group(2))
            # A rank's image is made when the rank begins: a breakpoint that is set there before would damage it.
            unload_symbols(lambda index: self.first_event(index) > self.event)
            self.set_word("fgmpi_rewind_debugged", "<I", 1)
            stop = gdb.Breakpoint("*%#x" % address_of(STOPPED), internal=True, temporary=True)
            stop.silent = True
            gdb.execute("continue", to_string=True)
        t = self.table()
        load_symbols(t, self.rank - t["first_world_rank"])

    def go_to(self, event):
        self.attach(self.ask("goto %d" % event))

    def show(self, answer):
        self.attach(answer)
        select_program()
        print(answer)

    @staticmethod
    def set_word(name, form, value):
        gdb.selected_inferior().write_memory(address_of(name), struct.pack(form, value))

    @staticmethod
    def table():
        return table(address_of("fgmpi_debug_table"))

    def running_rank(self):
        t = self.table()
        at = word(t["current"])
        return t["first_world_rank"] + (at - t["ranks"]) // t["proclet_bytes"] if at else -1

    @staticmethod
    def event_now():
        return word(address_of("fgmpi_rewind_events"))

    def stand_here(self):
        """Tells mpiexec how far the process has run by itself: the event of its rank that it is behind."""
        here = Here(self)
        if not here.ended and not (here.begins and here.event == self.event):
            self.event, self.rank = here.event, here.rank
            self.ask("here %d %d" % (here.event, max(here.rank, 0)))
        return here

    def find_event(self, event, rank, steps):
        """The event so many before this one of the rank, or 0."""
        return int(self.ask("find %d %d %d" % (event, rank, steps)).split()[-1])

    def first_event(self, rank):
        if rank not in self.first_events:
            self.first_events[rank] = self.find_event(0, rank, -1)
        return self.first_events[rank]

    # ---- Ways ---------------------------------------------------------------------------------------------------------------

    def follow(self, start, here, marks, wanted=None, may_be_cut=False):
        """Runs from event `start` on, at most to `here`, and returns the way. `wanted`: the number of the step at which it stops.
        `may_be_cut`: the way may end where it has passed very much."""
        self.go_to(start)
        way = Way(wanted)
        last = here.event if here.begins else here.event + 1
        self.set_word("fgmpi_rewind_stop_at", "<Q", (1 << 64) - 1 if here.ended else last)
        self.set_word("fgmpi_rewind_check_at", "<Q", 0)
        at_end = gdb.Breakpoint("*%#x" % address_of(STOPPED), internal=True)
        at_end.silent = True
        if marks.by_user:
            load_libraries()
        places = [at_end, *marks.make(way)]
        if not here.ended and not here.begins:
            places.append(PassedPlace(way, here.pc, lambda frame: self.likeness(here, frame)))
        try:
            with Quietly(), UsersBreakpoints(marks.by_user):
                while True:
                    gdb.execute("continue", to_string=True)
                    if way.reached or not gdb.selected_inferior().pid or has_stopped():
                        break
                    if way.add(("user", None)):
                        break
        finally:
            for breakpoint in places:
                if breakpoint.is_valid():
                    breakpoint.delete()
        if way.is_cut() and not may_be_cut:
            raise gdb.GdbError("more than %d stops lie between event %d and here: set breakpoints that are passed less often" % (MOST_HITS, start))
        return way

    def likeness(self, here, frame):
        if self.event_now() != here.event:
            return None
        return ("here", here.likeness(frame))

    def find_last(self, marks, choose, here, starts):
        """Goes to the last step before `here` that choose(steps) selects: it returns an index, or None. Tries the ways from each
        start to the one before. Returns the step, or None."""
        for start in starts:
            steps = self.follow(start, here, marks).passed
            likeness = [step[1] if step[0] == "here" else 0 for step in steps]
            end = len(steps)
            if any(likeness):
                best = max(likeness)
                end = max(i for i, value in enumerate(likeness) if value == best)
            chosen = choose([step if step[0] != "here" else ("", None) for step in steps[:end]])
            if chosen is not None:
                self.follow(start, here, marks, chosen + 1)
                return steps[chosen]
            here = BeginOf(start)
        return None

    def starts(self, here, rank=None):
        """Events from which ways to here begin, later ones first: some of the rank, then snapshots, then the first one."""
        last = 0
        if not here.begins:
            last = here.event
            yield last
        for steps in (1, 8, 64) if rank is not None else ():
            event = self.find_event(here.event + (0 if here.begins else 1), rank, steps)
            if event and event != last:
                last = event
                yield event
        end = last or here.event
        while True:
            found = re.match(r"snapshot (\d+)", self.ask("before %d" % end))
            if not found:
                break
            if int(found.group(1)) == 1:
                break
            end = int(found.group(1))
            yield end
        # Before that the images of ranks with breakpoints are not complete.
        first = max([1, *(self.first_event(index) for index, _ in LOADED.values())])
        if end > first:
            yield first

    def arrive(self, in_program=False):
        """Shows where the process stands now. `in_program`: in the innermost frame of the program."""
        self.stand_here()
        load_libraries()
        t = self.table()
        load_symbols(t, max(self.rank - t["first_world_rank"], 0))
        if in_program:
            select_program()
        else:
            show_frame()

    def return_to(self, here, words):
        """Nothing was found: says so at the first event."""
        self.go_to(1)
        select_program()
        print(words)

    # ---- Going backwards ----------------------------------------------------------------------------------------------------

    def reverse_continue(self):
        here = self.stand_here()
        marks = Marks(lambda way: [], by_user=True)
        found = self.find_last(marks, lambda steps: next((i for i in reversed(range(len(steps))) if steps[i][0] == "user"), None),
                               here, self.starts(here))
        if not found:
            return self.return_to(here, "No stop before: the run's first MPI call")
        self.arrive()

    def last_write(self, expression):
        """Goes to the last change of a variable before here: from snapshot to snapshot, backwards."""
        here, place = self.stand_here(), self.place_of(expression)
        marks = Marks(lambda way: [PassedPlace(way, place, lambda frame: ("write", None), watches=True)])
        found = self.find_last(marks, lambda steps: next((i for i in reversed(range(len(steps))) if steps[i][0] == "write"), None),
                               here, self.starts(here))
        if not found:
            return self.return_to(here, "%s has not been written since the first MPI call" % expression)
        self.arrive(in_program=True)
        print("%s was written by rank %d here, behind event %d" % (expression, self.running_rank(), self.event_now()))

    @staticmethod
    def place_of(expression):
        value = gdb.parse_and_eval(expression)
        if value.address is None:
            raise gdb.GdbError("%s is not in memory" % expression)
        return watched_place(int(value.address), max(n for n in KINDS if n <= value.type.sizeof))

    def reverse_line(self, into):
        """Goes to the beginning of the line before this one; `into`: also of a line in a function that was called there."""
        here = self.stand_here()
        frame = None if here.ended else program_frame()
        if frame is None:
            raise gdb.GdbError("The process has ended: reverse-continue, or fgmpi goto last")
        sal, top, begin = frame.find_sal(), top_of(frame), frame.function() and frame.function().symtab and frame.block()
        while begin and not begin.function:
            begin = begin.superblock
        if not begin:
            raise gdb.GdbError("The program's function has no lines: compile with -g")
        lines = [(entry.pc, entry.line) for entry in sal.symtab.linetable() if entry.line]
        if not into:
            lines = [(pc, line) for pc, line in lines if begin.start <= pc < begin.end]
        entries = entries_of(lines)
        now = (top, sal.line)

        def line_at(line, is_entry):
            def step_of(passed):
                if self.running_rank() != here.rank:
                    return None
                its_top = top_of(passed)
                return None if not into and its_top != top else ("entry" if is_entry else "line", (its_top, line))
            return step_of

        def make(way):
            return [PassedPlace(way, pc, line_at(line, pc in entries)) for pc, line in dict(lines).items()]

        def choose(steps):
            """The first of the last steps of one line that is not this one, in the same call of the function."""
            chosen = None
            for i in reversed(range(len(steps))):
                kind, step = steps[i]
                if kind == "entry" and step[0] == top and not into and chosen is None:
                    return i  # the function begins here
                if kind != "line" or (chosen is None and step == now):
                    continue
                if chosen is not None and step != steps[chosen][1]:
                    break
                chosen = i
            return chosen

        found = self.find_last(Marks(make), choose, here, self.starts(here, here.rank))
        if not found:
            return self.return_to(here, "No line before: the run's first MPI call")
        if found[0] == "entry":
            return self.reverse_finish()
        self.arrive()

    def reverse_finish(self):
        """Goes to where the selected function was called."""
        here = self.stand_here()
        frame = None if here.ended else gdb.selected_frame() if here.begins else gdb.newest_frame()
        caller = frame and frame.older()
        if not caller or not is_of_program(caller):
            raise gdb.GdbError("The program has no function that called this one")
        call, sp = call_before(caller), register(caller, "rsp")

        def step_of(passed):
            return ("call", None) if register(passed, "rsp") == sp else None

        found = self.find_last(Marks(lambda way: [PassedPlace(way, call, step_of)]),
                               lambda steps: next((i for i in reversed(range(len(steps))) if steps[i][0] == "call"), None),
                               here, self.starts(here, here.rank))
        if not found:
            return self.return_to(here, "No call before: the run's first MPI call")
        self.arrive()

    # ---- Writers ------------------------------------------------------------------------------------------------------------

    def who_else(self, expression):
        """Prints which ranks have changed the bytes at an address before here."""
        value, here, t = gdb.parse_and_eval(expression), self.stand_here(), self.table()
        address, target = int(value.cast(gdb.lookup_type("long"))), 8
        if value.type.code == gdb.TYPE_CODE_PTR:
            target = max(value.type.target().sizeof, 1)
        place = watched_place(address, max(n for n in KINDS if address % n == 0 and n <= target))

        def step_of(frame):
            rank = self.running_rank()
            load_symbols(t, max(rank - t["first_world_rank"], 0))
            inner = program_frame()
            sal = inner and inner.find_sal()
            line = "%s:%d" % (os.path.basename(sal.symtab.filename), sal.line) if sal and sal.symtab else "the library"
            return ("write", (rank, self.event_now(), line))

        way = self.follow(1, here, Marks(lambda way: [PassedPlace(way, place, step_of, watches=True)]), may_be_cut=True)
        self.attach(self.ask("goto %d" % here.event))
        select_program()
        writers = {}
        for kind, step in way.passed:
            if kind == "write":
                rank, behind, line = step
                writers[rank] = (writers.get(rank, (0,))[0] + 1, behind, line)
        for rank, (times, behind, line) in sorted(writers.items(), key=lambda item: -item[1][1]):
            print("rank %d changed it %s, last behind event %d at %s" % (rank, "once" if times == 1 else "%d times" % times, behind, line))
        if way.is_cut():
            print("these are the first %d changes: it is changed more often before here" % len(way.passed))
        if not writers:
            print("no rank has changed it since the first MPI call")


def entries_of(lines):
    """Addresses at which functions begin, and at which their prologues end: the first two of a function have its line."""
    found = set()
    for i, (pc, line) in enumerate(lines):
        block = gdb.block_for_pc(pc)
        while block and not block.function:
            block = block.superblock
        if block and block.start == pc:
            found.add(pc)
            if i + 1 < len(lines) and lines[i + 1][1] == line:
                found.add(lines[i + 1][0])
    return found


def call_before(caller):
    """The address of the call instruction behind which a frame goes on."""
    pc = caller.pc()
    start = max((entry.pc for entry in caller.find_sal().symtab.linetable() if entry.pc < pc), default=pc)
    code = [i["addr"] for i in caller.architecture().disassemble(start, pc - 1)]
    if not code or start >= pc:
        raise gdb.GdbError("the call of this function cannot be found")
    return code[-1]


class Quietly:
    """Without gdb's lines about processes that change."""

    def __enter__(self):
        self.known = True
        try:
            gdb.execute("set suppress-cli-notifications on", to_string=True)
        except gdb.error:  # before gdb 13
            self.known = False

    def __exit__(self, *_):
        if self.known:
            gdb.execute("set suppress-cli-notifications off", to_string=True)


class UsersBreakpoints:
    """The user's breakpoints on a way: silent, or disabled."""

    def __init__(self, enabled):
        self.name = "silent" if enabled else "enabled"

    def __enter__(self):
        self.changed = [b for b in gdb.breakpoints() if b.number > 0 and b.enabled and getattr(b, self.name) != (self.name == "silent")]
        for breakpoint in self.changed:
            setattr(breakpoint, self.name, self.name == "silent")

    def __exit__(self, *_):
        for breakpoint in self.changed:
            if breakpoint.is_valid():
                setattr(breakpoint, self.name, self.name != "silent")


class ReverseCommand(gdb.Command):
    """Goes back in a recorded run, in place of gdb's command of this name."""

    def __init__(self, name, go):
        super().__init__(name, gdb.COMMAND_RUNNING)
        self.go = go

    def invoke(self, argument, from_tty):
        words = gdb.string_to_argv(argument)
        times = int(words[0]) if words and words[0].isdigit() else 1
        for _ in range(times):
            self.go(gdb.fgmpi_visit)


REVERSE = {
    "reverse-continue": Visit.reverse_continue,
    "reverse-step": lambda visit: visit.reverse_line(True),
    "reverse-next": lambda visit: visit.reverse_line(False),
    "reverse-finish": Visit.reverse_finish,
}


class Fgmpi(gdb.Command):
    """fgmpi rewind FILE | goto EVENT|last | back [N] | forward [N] | rank RANK | events [RANK] | sender [N] |
    last-write VARIABLE | who-else ADDRESS: a recorded run."""

    def __init__(self):
        super().__init__("fgmpi", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        words = gdb.string_to_argv(argument)
        if len(words) == 2 and words[0] == "rewind":
            # gdb may load this script once more, with the library: what it keeps is in gdb's own module.
            gdb.fgmpi_visit = Visit(os.environ.get("FGMPI_MPIEXEC", "mpiexec"), words[1])
            for name, go in REVERSE.items():
                ReverseCommand(name, go)
            for name in ("next", "step"):
                gdb.execute("define hook-%s\npython leave_call()\nend" % name)
            return
        if not words or words[0] not in ("goto", "back", "forward", "rank", "events", "sender", "last-write", "who-else"):
            raise gdb.GdbError(self.__doc__)
        visit = getattr(gdb, "fgmpi_visit", None)
        if not visit:
            raise gdb.GdbError("no run is visited: fgmpi rewind FILE")
        if words[0] in ("last-write", "who-else"):
            (visit.last_write if words[0] == "last-write" else visit.who_else)(argument.strip()[len(words[0]):].strip())
            return
        if words[0] != "goto":
            visit.stand_here()
        answer = visit.ask(" ".join(words))
        if words[0] != "events":
            visit.show(answer)
            return
        while answer != "end":
            print(answer)
            answer = visit.answer()


Fgmpi()
