#!/usr/bin/env python3
"""Programs whose jobs are saved at moments that are drawn, end there, and go on in another number of processes, as often as is
asked: all runs of a job together print what an undisturbed one prints.

  random_moments.py BIN WORK_FOLDER [--moments N] [--chain K] [--seed S] [--mpi FOLDER] [NAME...]

N: jobs a program that are saved. K: how often each is saved before it goes on to its end. NAME: only these programs. FOLDER: of the
programs of test/mpi, which run in place of the examples and of those in moments/; NAME is a topic or TOPIC/PROGRAM then."""
import argparse
import dataclasses
import os
import random
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXAMPLES, MOMENTS = HERE.parents[1] / "examples", HERE / "moments"
HDF5 = Path("/usr/include/hdf5/mpich")
HDF5_LIBRARIES = next(iter(sorted(Path("/usr/lib").glob("*/hdf5/mpich"))), Path("/"))
LIMIT = 150  # seconds a run
TOPICS = "pt2pt coll comm attr datatype topo group old_style fortran rma file".split()
# Programs of test/mpi that remember which ranks shared a process, and so go on in as many processes as before.
BY_PROCESSES = {
    "coll/reproducible": "the order in which floating-point numbers are added follows the processes",
    "comm/memory": "communicators take 4 bytes for each process where these do not host equally many members",
    "comm/split_type_inter": "it splits communicators by process and expects the members of its start",
}
# What differs between two runs of a program.
VARIES = re.compile(r"\d+\.\d+ s\b|\d+\.\d+ of the time")
LATE = "ranks have begun to finalize"


class Failure(Exception):
    pass


@dataclasses.dataclass
class Program:
    name: str
    ranks: int
    source: Path = None  # None: it is built already, at `path`
    path: Path = None
    arguments: str = ""
    flags: str = ""
    # Why a job of this program may not be saved, which leaves it undisturbed.
    refusal: str = None
    same_processes: bool = False  # it goes on in as many as it had

    def build(self, bin_folder, work):
        if not self.source:
            return
        self.path = work / self.name
        if self.path.exists() and self.path.stat().st_mtime > self.source.stat().st_mtime:
            return
        wrapper = {".c": "mpicc", ".cc": "mpicxx", ".f90": "mpifort"}[self.source.suffix]
        done = subprocess.run([bin_folder / wrapper, "-g", "-O1", self.source, *self.flags.split(), "-o", self.path, "-lm"],
                              cwd=work, capture_output=True, text=True)
        if done.returncode != 0:
            raise Failure(f"{wrapper}: {done.stderr}")


def own_programs():
    def example(name, ranks, **more):
        return Program(name, ranks, next(p for end in (".c", ".f90") for p in
                                         (EXAMPLES / name / (name + end), EXAMPLES / (name + end)) if p.exists()), **more)
    yield example("conjugate_gradient", 12)
    yield example("divide_and_conquer", 12, arguments="3 1e-5")
    yield example("farm", 7)
    yield example("heat", 12)
    yield example("hybrid", 4, flags="-fopenmp", refusal="it has threads")
    yield example("multigrid", 16)
    yield example("quicksort", 12)
    yield example("sample_sort", 12, arguments="20000")
    yield example("spectral", 16)
    yield example("stencil", 12, arguments="60")
    yield Program("refined", 12, MOMENTS / "refined.c")
    yield Program("allocated", 6, MOMENTS / "allocated.f90")
    yield Program("thrown", 6, MOMENTS / "thrown.cc")
    if (HDF5 / "hdf5.h").exists():
        yield Program("written", 6, MOMENTS / "written.c", flags=f"-I{HDF5} -L{HDF5_LIBRARIES} -lhdf5")
    else:
        print("written: left out, since parallel HDF5 is not installed")


def programs_of_mpi(folder, names):
    """Programs of test/mpi that run with two processes of three ranks, but those that programs.sh leaves out."""
    left_out = re.search(r'^but="(.*)"', (HERE / "programs.sh").read_text(), re.M).group(1).split()
    for topic in TOPICS:
        for path in sorted((folder / topic).iterdir()):
            name = f"{topic}/{path.name}"
            if names and topic not in names and name not in names or path.name in left_out or name in left_out:
                continue
            if not path.is_file() or not os.access(path, os.X_OK) or path.name.endswith((".host", "_abi", ".sh")):
                continue
            shapes = HERE.parent / "mpi" / topic / (path.name + ".shapes")
            if not shapes.exists() or "3x2" in shapes.read_text().splitlines():
                yield Program(name, 6, path=path, refusal="no checkpoint is taken", same_processes=name in BY_PROCESSES)


class Job:
    """A job of one program: its runs in the folder, one behind the other."""

    def __init__(self, bin_folder, folder, program, draw):
        self.bin, self.program, self.draw, self.folder = bin_folder, program, draw, folder
        self.story, self.number, self.processes = [], 0, 0

    def run(self, options, microseconds, command=()):
        """Returns what it has printed, and on standard error."""
        environment = dict(os.environ, FGMPI_CHECKPOINT=f"leave:{microseconds}us,report", OMP_NUM_THREADS="2")
        words = [str(word) for word in (self.bin / "mpiexec", *options, *command)]
        self.story.append(f"FGMPI_CHECKPOINT={environment['FGMPI_CHECKPOINT']} " + " ".join(words))
        process = subprocess.Popen(words, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, errors="replace")
        try:
            out, err = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            process.terminate()
            out, err = process.communicate()
            raise Failure(f"a run has not ended after {LIMIT} s\n{out}{err}")
        if process.returncode != 0:
            raise Failure(f"a run ended with {process.returncode}\n{out}{err}")
        return out, err

    def begin(self, microseconds, processes=None):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.story, self.number = [], 0
        ranks = self.program.ranks
        self.processes = processes or self.draw.choice([p for p in range(1, 5) if ranks % p == 0])
        return self.run(["-checkpoint", "saved0", "-n", self.processes, "-nfg", ranks // self.processes], microseconds,
                        [self.program.path, *self.program.arguments.split()])

    def go_on(self, microseconds):
        before, self.number = f"saved{self.number}", self.number + 1
        processes = self.processes if self.program.same_processes else self.draw.randint(1, min(self.program.ranks, 5))
        return self.run(["-restart", before, "-checkpoint", f"saved{self.number}", "-n", processes], microseconds)

    def was_saved(self):
        return any(path.name.isdigit() for path in (self.folder / f"saved{self.number}").iterdir())


def lines_of(text):
    """Lines of different ranks come in any order."""
    return sorted(VARIES.sub("TIME", text).splitlines())


def length_of(err):
    """The microseconds that a job has run since MPI_Init, which rank 0 reports at its end; None: it does not."""
    found = re.search(r"has run (\d+) us", err)
    return int(found.group(1)) if found else None


def first_differences(found, expected):
    return "\n".join([f"  more:    {line}" for line in found if line not in expected][:5] +
                     [f"  missing: {line}" for line in expected if line not in found][:5])


def disturb(job, expected, length, chain):
    """One job that is saved at `chain` moments. Returns how often it was, whether it was refused to be, and the microseconds that
    it has run if it was not."""
    moments = [max(1, int(job.draw.random() * length / (1 + k))) for k in range(chain)] + [0]
    all_out, err = job.begin(moments[0])
    saved, refused = 0, False
    while True:
        if "no checkpoint is taken" in err and LATE not in err:
            refused = True
            if not job.program.refusal or job.program.refusal not in err:
                raise Failure(f"a checkpoint is refused:\n{err}")
        if saved == chain or not job.was_saved():
            break
        saved += 1
        out, err = job.go_on(moments[saved])
        all_out += out
    if lines_of(all_out) != expected:
        raise Failure("the output differs:\n" + first_differences(lines_of(all_out), expected) + f"\n{err}")
    return saved, refused, length_of(err) if saved == 0 else None


def check(bin_folder, work, program, options):
    program.build(bin_folder, work)
    job = Job(bin_folder, work / (program.name + ".job"), program, random.Random(f"{options.seed} {program.name}"))
    of_mpi = program.source is None
    out, err = job.begin(0, 2 if of_mpi else None)
    expected = lines_of(out)
    length = length_of(err)
    if not length and of_mpi:
        return "it has no MPI_COMM_WORLD"
    if not length or not (expected or of_mpi):
        raise Failure(f"the undisturbed run says:\n{out}{err}")
    done = saved = refused = tries = 0
    while done < options.moments and tries < (3 if of_mpi else 30) * options.moments:
        tries += 1
        try:
            times, was_refused, ran = disturb(job, expected, length, options.chain)
        except Failure as failure:
            kept = job.folder.with_name(f"{job.folder.name}.failed{options.seed}")
            shutil.rmtree(kept, ignore_errors=True)
            job.folder.rename(kept)
            raise Failure(f"{failure}\njob {tries} of seed {options.seed}, in {kept}:\n  " + "\n  ".join(job.story)) from None
        # Moments are drawn anew from the time that jobs need now: others may use the machine, too.
        length = ran or length
        done += times > 0 or was_refused
        saved += times
        refused += was_refused
    shutil.rmtree(job.folder)
    if done < options.moments and not of_mpi:
        raise Failure(f"only {done} of {tries} jobs were saved before they ended")
    return f"{tries} jobs were saved {saved} times" + (f", refused {refused} times" if refused else "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--moments", type=int, default=2)
    parser.add_argument("--chain", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mpi", type=Path)
    parser.add_argument("names", nargs="*")
    options = parser.parse_intermixed_args()
    bin_folder, work = options.bin.resolve(), options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    programs = programs_of_mpi(options.mpi.resolve(), options.names) if options.mpi else (
        program for program in own_programs() if not options.names or program.name in options.names)
    failed = count = 0
    for program in programs:
        begun = time.monotonic()
        count += 1
        try:
            said = check(bin_folder, work, program, options)
            print(f"{program.name}: {said}, {time.monotonic() - begun:.1f} s", flush=True)
        except Failure as failure:
            failed += 1
            print(f"{program.name}: {failure}", flush=True)
    if not failed and count:
        print(" No Errors")
    return failed != 0 or not count


if __name__ == "__main__":
    sys.exit(main())
