"""What the suite measures: programs of this folder and its neighbours, the jobs that run them, how their output is read.

A Measurement is one program with its arguments. It runs as several jobs, its columns, in turn: those of this library and, with
as many ranks, those of MPICH and Open MPI. A job's output becomes rows: {name of the row: Figure}.
"""
import dataclasses
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MICRO = os.path.join(os.path.dirname(HERE), "micro")
PAPER = os.path.join(os.path.dirname(HERE), "paper")

OURS, MPICH, OPENMPI = "fgmpi", "mpich", "openmpi"
NAMES = {OURS: "Finegrain MPI", MPICH: "MPICH", OPENMPI: "Open MPI"}


@dataclasses.dataclass
class Figure:
    """One value, and what it means: `better` is "lower" or "higher"."""
    value: float
    unit: str = "us"
    better: str = "lower"


@dataclasses.dataclass
class Column:
    """One job of a measurement: `ranks` ranks in each of `processes` processes."""
    library: str
    processes: int
    ranks: int = 1
    label: str = ""

    def __post_init__(self):
        if not self.label:
            count = self.processes * self.ranks
            shape = f"{self.processes} x {self.ranks}" if self.library == OURS and self.ranks > 1 else f"{count}"
            self.label = f"{NAMES[self.library]}, {shape}"


@dataclasses.dataclass
class Measurement:
    """`source` is compiled for each library; `arguments` and `quick` are the program's, in a whole and in a quick run."""
    name: str
    title: str
    source: str
    columns: list
    arguments: list
    read: object
    quick: list = None
    flags: list = dataclasses.field(default_factory=list)
    environment: dict = dataclasses.field(default_factory=dict)
    seconds: int = 120  # a job that takes longer is ended
    hangs: bool = False  # a job of another library that does not end is a result
    quick_columns: list = None
    plot: str = "bars"  # or "sizes": rows whose names end in ", N B" become curves
    note: str = ""


def pair(*ours):
    """Columns of two ranks: this library's shapes, and two processes of each other library."""
    shapes = {"collocated": Column(OURS, 1, 2, "collocated"), "processes": Column(OURS, 2, 1, "two processes")}
    return [*(shapes[shape] for shape in ours), Column(MPICH, 2), Column(OPENMPI, 2)]


def group(ranks, others=True):
    """Columns of `ranks` ranks: this library's in two processes, the others' in as many as there are ranks."""
    ours = [Column(OURS, 2, ranks // 2)]
    return ours + ([Column(MPICH, ranks), Column(OPENMPI, ranks)] if others else [])


def size_name(count):
    """Returns a number of bytes as `8 B`, `64 KiB`, `16 MiB`."""
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= factor and count % factor == 0:
            return f"{count // factor} {unit}"
    return f"{count} B"


def read_tabs(text, _seconds):
    """Lines `NAME<tab>VALUE<tab>UNIT` of any_mpi.c."""
    rows = {}
    for line in text.splitlines():
        words = line.split("\t")
        if len(words) == 3:
            rows[words[0]] = Figure(float(words[1]), words[2].strip(), "higher" if words[0] == "communicators" else "lower")
    return rows


def read_seconds(_text, seconds):
    """How long the job took."""
    return {"start and end": Figure(seconds, "s")}


def read_deadlock(_text, seconds):
    return {"until a deadlock ends the job": Figure(seconds, "s")}


def read_sizes(text, _seconds):
    """Lines `BYTES MICROSECONDS MB/S` of `pt2pt_pair table`."""
    latency, bandwidth, rate = {}, {}, {}
    for line in text.splitlines():
        words = re.fullmatch(r"(\d+) ([\d.]+) ([\d.]+)", line.strip())
        if words:
            count = int(words.group(1))
            latency[f"half round trip, {size_name(count)}"] = Figure(float(words.group(2)))
            bandwidth[f"bandwidth, {size_name(count)}"] = Figure(float(words.group(3)) / 1000, "GB/s", "higher")
            if count == 8:
                rate["messages of 8 B, windows of 64"] = Figure(float(words.group(3)) / 8, "million/s", "higher")
    return {**latency, **rate, **bandwidth}


def read_one_sided(text, _seconds):
    """Lines of rma_pair: `WHAT   N us`, and rates in MB/s of some sizes."""
    rows = {}
    for line in text.splitlines():
        rates = re.match(r" *(\d+) B, MB/s: (.*)", line)
        time = re.match(r"(.*\S) +([\d.]+) us$", line)
        if rates:
            for name, value in re.findall(r"([a-z ]+) (\d+)", rates.group(2)):
                rows[f"{name.strip()}, {size_name(int(rates.group(1)))}"] = Figure(int(value) / 1000, "GB/s", "higher")
        elif time:
            rows[time.group(1)] = Figure(float(time.group(2)) * 1000, "ns")
    return rows


def read_collectives(text, _seconds):
    """Lines `NAME RANKS N us ...` of coll_table."""
    rows = {}
    for line in text.splitlines():
        words = re.match(r"([a-z0-9_]+) +\d+ +([\d.]+) us", line)
        if words:
            rows[words.group(1)] = Figure(float(words.group(2)))
    return rows


def read_every_collective(text, _seconds):
    """Lines `time NAME BYTES SECONDS` of coll_compare. A time that is less than what barriers differ by is no figure."""
    rows = {}
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["time"] and float(words[3]) > 0:
            rows[f"{words[1]}, {size_name(int(words[2]))}"] = Figure(float(words[3]) * 1e6)
    return rows


def read_threads(text, _seconds):
    """Lines `threads N LATENCY (WORST) RATE (WORST)` of thread_pairs."""
    rows = {}
    for line in text.splitlines():
        words = re.match(r" *(main|threads) (\d+) +([\d.]+) \( *[\d.]+\) +([\d.]+)", line)
        if words:
            who = "main thread" if words.group(1) == "main" else f"{words.group(2)} thread" + ("s" if words.group(2) != "1" else "")
            rows[f"half round trip, {who}"] = Figure(float(words.group(3)))
            rows[f"messages, {who}"] = Figure(float(words.group(4)), "million/s", "higher")
    return rows


def read_datatypes(text, _seconds):
    """Lines `SHAPE BYTES TYPED BY-HAND LOOP` of datatype_pair."""
    rows = {}
    for line in text.splitlines():
        words = re.match(r"(.*\S) +(\d+) +([\d.]+) +([\d.]+) +([\d.]+)$", line)
        made = re.match(r"(make, commit.*\S) +([\d.]+)$", line)
        if words:
            rows[f"{words.group(1)}: typed"] = Figure(float(words.group(3)))
            rows[f"{words.group(1)}: by hand"] = Figure(float(words.group(4)))
        elif made:
            rows[made.group(1)] = Figure(float(made.group(2)))
    return rows


def read_datatype_memory(text, _seconds):
    found = re.findall(r"^(.*\S) +(-?[\d.]+) bytes for each rank$", text, re.M)
    return {name: Figure(float(value), "B") for name, value in found}


def read_operations(text, _seconds):
    """The tables of op_rates: a line of sizes, one of operations, one for each type."""
    rows, length, names = {}, "", []
    for line in text.splitlines():
        head = re.match(r"(\d+) KiB, GB/s: memcpy ([\d.]+), a loop that adds doubles ([\d.]+)", line)
        if head:
            length = size_name(int(head.group(1)) << 10)
            rows[f"memcpy, {length}"] = Figure(float(head.group(2)), "GB/s", "higher")
            rows[f"a loop that adds doubles, {length}"] = Figure(float(head.group(3)), "GB/s", "higher")
        elif line.startswith(" "):
            names = line.split()
        elif length:
            cells = [line[16 + 8 * i: 24 + 8 * i].strip() for i in range(len(names))]
            for name, cell in zip(names, cells):
                if re.fullmatch(r"[\d.]+", cell):  # else a launcher's words about the end of the job
                    rows[f"{name} of {line[:16].strip()}, {length}"] = Figure(float(cell), "GB/s", "higher")
    return rows


def read_files(text, _seconds):
    """Lines `PATTERN SECONDS BYTES` of file_compare."""
    found = re.findall(r"^([a-z_]+) ([\d.e-]+) (\d+)$", text, re.M)
    return {name: Figure(float(seconds) * 1000, "ms") for name, seconds, _ in found}


def read_token(text, _seconds):
    found = re.search(r"([\d.]+) us a hop, ([\d.]+) in the fastest round, ([\d.]+) polls", text)
    return {"a hop": Figure(float(found.group(1))), "a hop, fastest round": Figure(float(found.group(2)))} if found else {}


def read_search(text, _seconds):
    found = re.search(r"searches: ([\d.]+) s, processor time of the busiest process ([\d.]+) s", text)
    return {"time": Figure(float(found.group(1)), "s"), "processor time": Figure(float(found.group(2)), "s")} if found else {}


def read_spawns(text, _seconds):
    found = re.findall(r"spawn ([\d.]+) s \(([\d.]+) us a rank\), disconnect ([\d.]+) s", text)
    return {"a spawned rank": Figure(min(float(each) for _, each, _ in found))} if found else {}


def read_creations(text, _seconds):
    """Lines of comm_cost: `WHAT wall N ms, N us a rank; processor N us a rank`."""
    found = re.findall(r"^(\S.*\S) +wall +([\d.]+) ms, +([\d.]+) us a rank; processor +([\d.]+) us a rank", text, re.M)
    return {f"{name}, a rank": Figure(float(each)) for name, _, each, _ in found}


def read_counts(text, _seconds):
    """Lines `PATH COUNT ...` of path_counts.py."""
    found = re.findall(r"^([a-z_]+) +([\d.]+)", text, re.M)
    return {name: Figure(float(value), "instructions") for name, value in found}


ANY = os.path.join(HERE, "any_mpi.c")
ALONE = [Column(OURS, 1, 1, "Finegrain MPI"), Column(MPICH, 1, 1, "MPICH"), Column(OPENMPI, 1, 1, "Open MPI")]


def starts():
    return [Measurement(f"start_{count}", f"Start and end of an empty program, {count} processes", ANY,
                        [Column(library, count) for library in (OURS, MPICH, OPENMPI)], ["hello"], read_seconds,
                        quick_columns=None if count == 2 else [])
            for count in (2, 16, 64)]


def scales():
    some = [Measurement(f"scale_{ranks}", f"Memory and collectives of {ranks} ranks", ANY, group(ranks), ["scale", "0.5"], read_tabs,
                        quick=["scale", "0.02"], seconds=60, quick_columns=None if ranks == 2 else [])
            for ranks in (2, 16, 64)]
    many = [Measurement(f"scale_{ranks}", f"Memory and collectives of {ranks:,} ranks", ANY, group(ranks, others=False),
                        ["scale", "2"], read_tabs, quick=["scale", "0.02"], seconds=300, quick_columns=None if ranks == 1000 else [],
                        note="The other libraries start no such job.")
            for ranks in (1000, 10000, 100000, 1000000)]
    return some + many


def micro(name):
    return os.path.join(MICRO, name)


def messages():
    both = pair("collocated", "processes")
    return [
        Measurement("messages", "Messages between two ranks", micro("pt2pt_pair.c"), both, ["table"], read_sizes, plot="sizes",
                    quick_columns=[], seconds=60,
                    note="With --realtime, as root, both ranks go before all other work of the machine."),
        Measurement("one_sided", "One-sided operations between two ranks", micro("rma_pair.c"), both, [], read_one_sided,
                    quick_columns=[]),
        Measurement("threads", "Pairs of threads at MPI_THREAD_MULTIPLE", micro("thread_pairs.c"), pair("processes"), [],
                    read_threads, quick=["1"], flags=["-pthread"], seconds=300, quick_columns=[Column(OURS, 2, 1, "two processes")]),
        Measurement("funneled", "The main thread at MPI_THREAD_FUNNELED", micro("thread_pairs.c"), pair("processes"),
                    ["funneled"], read_threads, flags=["-pthread"], quick_columns=[]),
        Measurement("datatypes", "Messages of derived datatypes", micro("datatype_pair.c"), both, ["0.1"], read_datatypes,
                    quick=["0.001"], flags=["-O3"]),
        Measurement("datatype_memory", "Memory of derived datatypes", micro("datatype_memory.c"), ALONE, [],
                    read_datatype_memory, quick_columns=[]),
        Measurement("operations", "Predefined operations", micro("op_rates.c"), ALONE, [], read_operations, flags=["-O3"],
                    quick=["0.0001"], quick_columns=[]),
    ]


def collectives():
    found = []
    for ranks in (2, 16, 64):
        found.append(Measurement(f"collectives_{ranks}", f"Collectives of {ranks} ranks, calls in a row", micro("coll_table.c"),
                                 group(ranks), [], read_collectives, quick=["barrier"], seconds=60,
                                 quick_columns=None if ranks == 2 else []))
    for ranks in (16, 64):
        for size in (8, 65536):
            found.append(Measurement(f"every_collective_{ranks}_{size}",
                                     f"Every collective of {ranks} ranks, {size_name(size)}, calls apart",
                                     micro("coll_compare.c"), group(ranks), ["-a", "-b", "0.2", "-s", str(size)],
                                     read_every_collective, seconds=60, quick_columns=[]))
    return found


def others():
    return [
        Measurement("token", "A token among ranks that poll", micro("poll_token.c"), group(16), ["200"], read_token,
                    quick=["2"], seconds=60, quick_columns=group(16, others=False)),
        Measurement("search", "A search by active messages, ranks that poll", micro("poll_search.c"), group(64), ["12", "4"],
                    read_search, quick=["8", "1"], seconds=60, quick_columns=group(16, others=False)),
        Measurement("files", "Files in memory", micro("file_compare.c"), group(8),
                    ["-m", "64", "/dev/shm", "segmented", "strided", "strided_all", "sparse_all", "array", "records", "open"],
                    read_files, quick=["-m", "1", "-r", "1", "/dev/shm", "open"], quick_columns=group(2)),
        Measurement("communicators", "Communicators until one cannot be made", ANY,
                    [Column(library, 2) for library in (OURS, MPICH, OPENMPI)], ["communicators", "200000"], read_tabs,
                    quick=["communicators", "100"], note="The program ends at 200,000."),
        Measurement("creations", "Creation of communicators", os.path.join(PAPER, "comm_cost.c"),
                    [Column(OURS, 2, 50000)], [], read_creations, quick_columns=[Column(OURS, 2, 50)]),
        Measurement("spawn", "Spawned ranks as proclets", micro("spawn_cost.c"), [Column(OURS, 1)], ["here", "1000"],
                    read_spawns, quick=["here", "10", "1"]),
        Measurement("spawn_processes", "Spawned ranks as processes", micro("spawn_cost.c"),
                    [Column(OURS, 1)], ["processes", "16"], read_spawns, quick_columns=[]),
        Measurement("deadlock", "A deadlock", ANY, [Column(library, 2) for library in (OURS, MPICH, OPENMPI)],
                    ["deadlock"], read_deadlock, seconds=5, hangs=True, quick_columns=[Column(OURS, 2)]),
        Measurement("instructions", "Instructions of common paths (exact)", micro("path_counts.py"), [Column(OURS, 1)], [],
                    read_counts, quick=["barrier"]),
    ]


def all_measurements():
    return [*starts(), *scales(), *messages(), *collectives(), *others()]


def matches(pattern, name):
    return re.fullmatch(".*".join(re.escape(part) for part in pattern.split("*")), name) is not None


def chosen(patterns, quick):
    """Returns the measurements whose names match one of the patterns, in the shape of a quick or a whole run."""
    found = []
    for one in all_measurements():
        if patterns and not any(matches(pattern, one.name) for pattern in patterns):
            continue
        if quick:
            if one.quick_columns == [] and not patterns:
                continue
            one.columns = one.quick_columns or one.columns
            one.arguments = one.quick if one.quick is not None else one.arguments
        found.append(one)
    return found


if __name__ == "__main__":
    sys.exit("benchmarks/suite is run as a folder: python3 benchmarks/suite --help")
