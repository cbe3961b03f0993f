"""Finegrain MPI in gdb: the ranks (proclets) of a process or core file.

    info proclets         every rank of the process: world rank, state, the MPI call it waits in; where ranks move
                          (mpiexec -balance): in which process those of this one are, and visitors from others
    proclet RANK          backtrace of the rank with this world rank
    proclet RANK symbols  loads the symbols of the rank's images (the program's, private libraries' and those of what the
                          rank has loaded), for breakpoints and variables
    proclet RANK print NAME  the rank's variable of this name (global or static of a file)
    gcore [FILE]          gdb's own command, which omits mappings with unreadable pages; this script adds their other pages

gdb loads this script with the library (as lib/libmpich.so.12-gdb.py) where its auto-load safe path allows that; otherwise use
`source .../share/gdb/fgmpi-gdb.py`. The commands work without debug information of the library, on running processes and on core
files: a backtrace unwinds from the rank's saved registers and changes nothing in the process.
"""

import os
import struct

import gdb
import gdb.unwinder

FIELDS = (
    "version proclet_bytes ranks rank_count first_world_rank current context wait state stack_low "
    "stack_size image_region image_stride image_count program_base images pack_words image_first image_bytes places"
).split()
VERSION = 8
STATES = ["ready", "running", "waiting", "sleeping", "finished"]
PT_LOAD, PF_W = 1, 2  # ELF: a segment with memory; it is writable
PAGE, PIECE = 4096, 1 << 20


class Processor:
    """Where the registers of a suspended context lie: `saved` one behind the other from byte `first` on, and the program counter
    at byte `pc_at`; the context has `size` bytes and lies at the top of the stack. Other registers lie in the frames."""

    def __init__(self, saved, first, pc, pc_at, sp, size):
        self.places = [(name, first + 8 * place) for place, name in enumerate(saved)] + [(pc, pc_at)]
        self.pc, self.sp, self.size = pc, sp, size


# By gdb's names of architectures. The first 8 bytes on x86-64, and 64 on 64-bit Arm, are of floating-point registers.
PROCESSORS = {
    "i386:x86-64": Processor(["rbp"], 16, "rip", 8, "rsp", 152),
    "aarch64": Processor(["x%d" % number for number in range(19, 31)], 64, "pc", 160, "sp", 176),
}


def processor_of(frame):
    name = frame.architecture().name()
    if name not in PROCESSORS:
        raise gdb.GdbError("the stacks of ranks can be read on %s, not on %s" % (" and ".join(PROCESSORS), name))
    return PROCESSORS[name]


def read(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def word(address):
    return struct.unpack("<Q", read(address, 8))[0]


def table(address=None):
    try:
        address = address or int(gdb.parse_and_eval("(unsigned long)&fgmpi_debug_table"))
    except gdb.error:
        raise gdb.GdbError("this process has not loaded Finegrain MPI")
    version = word(address)
    if version != VERSION:
        raise gdb.GdbError("this script reads version %d of the library's table, not %d" % (VERSION, version))
    values = dict(zip(FIELDS, struct.unpack("<%dQ" % len(FIELDS), read(address, len(FIELDS) * 8))))
    return values


def pairs(begin, end):
    """Returns pairs of 32-bit numbers in memory as a dictionary."""
    return dict(struct.iter_unpack("<II", read(begin, end - begin))) if end > begin else {}


class Places:
    """Where ranks are that have moved: `away`, the processes of ranks that are known to be away from home; `visitors`, the world
    ranks of those of others that are here, by their numbers; `own`, how many ranks have begun here."""

    def __init__(self, t):
        self.first = t["first_world_rank"]
        self.away, self.visitors, self.processes, self.own = {}, {}, [], t["rank_count"]
        if t["places"]:
            moved, processes, count, self.own = struct.unpack("<4Q", read(t["places"], 32))
            away, away_end, _, visitors, visitors_end, _ = struct.unpack("<6Q", read(moved, 48))
            self.away, self.visitors = pairs(away, away_end), pairs(visitors, visitors_end)
            self.processes = list(struct.iter_unpack("<Ii", read(processes, 8 * count)))

    def rank_of(self, index):
        """Returns the world rank with this number here; None: no rank has it now."""
        return self.first + index if index < self.own else self.visitors.get(index)

    def index_of(self, rank):
        """Returns the number of a world rank that has begun here, or is here; None: it is another one."""
        visitor = [index for index, world in self.visitors.items() if world == rank]
        return rank - self.first if 0 <= rank - self.first < self.own else visitor[0] if visitor else None

    def is_away(self, index):
        return index < self.own and self.first + index in self.away

    def process(self, number):
        """Returns "process 1 (pid 4711)"."""
        pid = self.processes[number][1] if number < len(self.processes) else 0
        return "process %d (%s)" % (number, "pid %d" % pid if pid else "of another host")

    def home_of(self, rank):
        return self.process(max(number for number, (first, _) in enumerate(self.processes) if first <= rank))


def proclet(t, places, index):
    """Returns the data of the rank with number `index` in this process."""
    at = t["ranks"] + index * t["proclet_bytes"]
    state = read(at + t["state"], 1)[0]
    context, packed = word(at + t["context"]), False
    if not context and t["pack_words"]:
        # The packer moves contexts of ranks that wait for long aside, and packs their stacks (sched's packing.h).
        moved = word(t["pack_words"] + index * 8)
        packed = moved & 3 == 2
        context = moved & 0xFFFFFFFFFFFC if moved & 3 == 1 else 0
    return {
        "index": index,
        "rank": places.rank_of(index),
        "image": places.rank_of(index) - places.first,
        "visitor": index >= places.own,
        "away": places.process(places.away[places.first + index]) if places.is_away(index) else None,
        "context": context,
        "packed": packed,
        "wait": word(at + t["wait"]),
        "state": STATES[state] if state < len(STATES) else "?",
        "running": word(t["current"]) == at,
    }


def waits_in(p):
    if p["state"] not in ("waiting", "sleeping") or not p["wait"]:
        return ""
    call = word(p["wait"])
    return gdb.Value(call).cast(gdb.lookup_type("char").pointer()).string() if call else ""


class ProcletUnwinder(gdb.unwinder.Unwinder):
    """While `context` is set, the unwinder continues from the stopped frame into that context."""

    def __init__(self):
        super().__init__("fgmpi proclets")
        self.context = 0
        self.stack = 0

    def __call__(self, frame):
        if not self.context:
            return None
        processor = PROCESSORS[frame.architecture().name()]
        stack = frame.read_register(processor.sp)
        if int(stack) != self.stack:
            return None
        pointer = gdb.lookup_type("long")
        # The frame gets an address on the rank's stack, below all its frames: gdb refuses callers that lie below a frame.
        inner = gdb.Value(self.context).cast(stack.type)
        caller = frame.create_unwind_info(FrameId(inner, frame.read_register(processor.pc)))
        for name, place in processor.places:
            caller.add_saved_register(name, gdb.Value(word(self.context + place)).cast(pointer))
        caller.add_saved_register(processor.sp, gdb.Value(self.context + processor.size).cast(pointer))
        return caller


class FrameId:
    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


UNWINDER = ProcletUnwinder()
gdb.unwinder.register_unwinder(None, UNWINDER, replace=True)
# gdb may load this script again, with the library: what it has loaded stays in gdb's own module.
LOADED = gdb.fgmpi_loaded = getattr(gdb, "fgmpi_loaded", {})  # ranks, and addresses in the code, of images whose symbols are loaded
COPIES = gdb.fgmpi_copies = getattr(gdb, "fgmpi_copies", {})  # descriptors of copies of files, by their paths


def images_of(t, index, visits=False):
    """Yields (path, load address) of each module of which the rank has an image that gdb has not loaded itself. `index`: of the
    image, from the first one of this process. Those of a rank of another process that visits this one are at their distance, too."""
    at = t["images"]
    while at:
        at, path, region, stride, first, count = struct.unpack("<6Q", read(at, 6 * 8))
        if visits or first <= index < first + count:
            yield gdb.Value(path).cast(gdb.lookup_type("char").pointer()).string(), region + (index - first) * stride


def load_symbols(t, index, visits=False):
    """Loads the symbols of a rank's images. gdb itself loads image 0 of the program and of its libraries; the other images have
    the same symbols at other addresses."""
    for path, base in images_of(t, index, visits):
        if base not in LOADED:
            path = path or gdb.current_progspace().filename
            LOADED[base] = (index, base + entry_of(path))
            name = renamed(path)
            gdb.execute('add-symbol-file "%s" -o %#x' % (name, base), to_string=True)


def unload_symbols(is_unwanted):
    """Unloads the symbols of the images of some ranks, and with them the breakpoints there."""
    for base, (index, address) in list(LOADED.items()):
        if is_unwanted(index):
            gdb.execute("remove-symbol-file -a %#x" % address, to_string=True)
            del LOADED[base]


def entry_of(path):
    """Where the code of an ELF64 file begins, or near."""
    with open(path, "rb") as elf:
        return struct.unpack_from("<Q", elf.read(64), 24)[0]


def renamed(path):
    """Returns another name for a copy of the file, in memory. gdb moves the addresses of all sections of files of one name when it
    loads one of them at another address: it would then look in an image for the libraries of a process to which it attaches."""
    if path not in COPIES:
        COPIES[path] = os.memfd_create(os.path.basename(path))
        with open(path, "rb") as file:
            while os.sendfile(COPIES[path], file.fileno(), None, 1 << 30):
                pass
    return "/proc/self/fd/%d" % COPIES[path]


def print_variable(t, p, name):
    """Prints a rank's variable, at its address in image 0 plus the distance of the images. gdb's own lookup would find a global
    of that name in image 0 only."""
    program = gdb.lookup_objfile(gdb.current_progspace().filename)
    symbol = program.lookup_global_symbol(name) or program.lookup_static_symbol(name)
    if symbol is None or not symbol.is_variable:
        raise gdb.GdbError("the program has no variable %s with debug information" % name)
    value = symbol.value()
    if value.address is None:
        raise gdb.GdbError("%s is not kept in memory" % name)
    at, index = int(value.address), p["image"]
    if p["visitor"] or t["image_first"] <= index < t["image_count"]:
        at += t["image_region"] + (index - t["image_first"]) * t["image_stride"] - t["program_base"]
    print("%s = %s" % (name, gdb.Value(at).cast(value.type.pointer()).dereference()))


def backtrace(t, p):
    if p["state"] == "finished":
        raise gdb.GdbError("rank %d has finished" % p["rank"])
    load_symbols(t, p["image"], p["visitor"])
    if p["running"]:
        gdb.execute("backtrace")
        return
    if p["packed"]:
        raise gdb.GdbError(
            "rank %d waits in %s, and its stack is packed: FGMPI_PACK_STACKS=off keeps stacks" % (p["rank"], waits_in(p))
        )
    if not p["context"]:
        raise gdb.GdbError("rank %d has not started" % p["rank"])
    frame = gdb.newest_frame()
    UNWINDER.stack = int(frame.read_register(processor_of(frame).sp))
    UNWINDER.context = p["context"]
    gdb.invalidate_cached_frames()
    try:
        text = gdb.execute("backtrace", to_string=True)
    finally:
        UNWINDER.context = 0
        gdb.invalidate_cached_frames()
    # Frame 0 is the one in which the process has stopped; it is not the rank's.
    lines = text.splitlines()
    own = next((i for i, line in enumerate(lines) if line.startswith("#1 ")), len(lines))
    print("\n".join(lines[own:]))


class InfoProclets(gdb.Command):
    """The ranks of this process: world rank, state and the MPI call each waits in."""

    def __init__(self):
        super().__init__("info proclets", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        t = table()
        places = Places(t)
        print("  %-8s %-10s %s" % ("rank", "state", "in"))
        for index in range(t["rank_count"]):
            if places.rank_of(index) is None:
                continue  # a visitor has had the number
            p = proclet(t, places, index)
            state, where = ("away", p["away"]) if p["away"] else (p["state"], waits_in(p))
            if p["visitor"]:
                where += "%svisitor from %s" % (", " if where else "", places.home_of(p["rank"]))
            print("%s %-8d %-10s %s" % ("*" if p["running"] else " ", p["rank"], state, where))


class Proclet(gdb.Command):
    """proclet RANK [bt|symbols|print NAME]: backtrace of a rank of this process; its image's symbols; its variable."""

    def __init__(self):
        super().__init__("proclet", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        words = gdb.string_to_argv(argument)
        t = table()
        places = Places(t)
        allowed = "allowed: proclet RANK [bt|symbols|print NAME], RANK from %d to %d" % (places.first, places.first + places.own - 1)
        for visitor in sorted(places.visitors.values()):
            allowed += ", %d" % visitor
        index = places.index_of(int(words[0])) if words and words[0].isdigit() else None
        if index is None:
            raise gdb.GdbError(allowed)
        p = proclet(t, places, index)
        what = words[1] if len(words) > 1 else "bt"
        if p["away"]:
            raise gdb.GdbError("rank %d has moved: it is in %s" % (p["rank"], p["away"]))
        if what == "symbols":
            load_symbols(t, p["image"], p["visitor"])
        elif what == "print" and len(words) == 3:
            print_variable(t, p, words[2])
        elif what == "bt":
            backtrace(t, p)
        else:
            raise gdb.GdbError(allowed)


def writable_segments(core):
    """Yields (address, offset in the file, bytes) of each writable segment with memory in an open core file of ELF64."""
    header = core.read(64)
    table_at, entry_bytes, entries = struct.unpack_from("<Q", header, 32)[0], *struct.unpack_from("<HH", header, 54)
    if entries == 0xFFFF:  # too many for the field: the first section header has the number
        core.seek(struct.unpack_from("<Q", header, 40)[0] + 44)
        entries = struct.unpack("<I", core.read(4))[0]
    for entry in range(entries):
        core.seek(table_at + entry * entry_bytes)
        kind, flags, offset, address, _, in_file, _, _ = struct.unpack("<IIQQQQQQ", core.read(56))
        if kind == PT_LOAD and flags & PF_W and in_file:
            yield address, offset, in_file


def read_pages(memory, address, size):
    """Yields (address, bytes) of each run of readable pages in a range of memory."""
    end = address + size
    while address < end:
        try:
            data = os.pread(memory, end - address, address)
        except OSError:  # the first page is the one that cannot be read
            data = b""
        if data:
            yield address, data
        address += len(data) or PAGE


def add_missing_memory(core, pid):
    """Adds memory to a core file that gdb has omitted. gdb reads a mapping in pieces of 1 MiB, and omits all pieces from the
    first one with an unreadable page on. Such pages are between the stacks of ranks."""
    memory = os.open("/proc/%d/mem" % pid, os.O_RDONLY)
    for start, offset, size in list(writable_segments(core)):
        missing = False
        for done in range(0, size, PIECE):
            length = min(PIECE, size - done)
            runs = list(read_pages(memory, start + done, length))
            missing = missing or sum(len(data) for _, data in runs) != length
            for address, data in runs if missing else []:
                for page in range(0, len(data), PAGE):
                    if data.count(0, page, page + PAGE) != len(data[page : page + PAGE]):  # holes stay holes
                        core.seek(offset + address - start + page)
                        core.write(data[page : page + PAGE])
    os.close(memory)


class Gcore(gdb.Command):
    """gcore [FILE]: a core file of this process, core.PID by default, with the stacks of all its ranks."""

    def __init__(self):
        super().__init__("gcore", gdb.COMMAND_FILES, gdb.COMPLETE_FILENAME)

    def invoke(self, argument, from_tty):
        pid = gdb.selected_inferior().pid
        name = os.path.expanduser(argument) or "core.%d" % pid
        gdb.execute("generate-core-file " + name)
        if os.access("/proc/%d/mem" % pid, os.R_OK):  # not so for a process of another machine
            with open(name, "r+b") as core:
                add_missing_memory(core, pid)


InfoProclets()
Proclet()
Gcore()
