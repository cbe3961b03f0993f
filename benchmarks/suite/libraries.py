"""The MPI libraries that the suite compares: how a program is compiled for each and how a job of it is run."""
import os
import shlex
import shutil
import signal
import subprocess
import time

from measurements import MPICH, NAMES, OPENMPI, OURS


class Missing(Exception):
    """A library cannot be used here; the text says why."""


def first_line(command):
    """Returns the first line that a command prints, or "" where it fails."""
    try:
        done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip().split("\n")[0] if done.returncode == 0 else ""


class Library:
    """One library: `compiler` with its `libraries` builds programs, `launcher` starts them."""

    def __init__(self, name, compiler, launcher, libraries=""):
        self.name, self.title = name, NAMES[name]
        self.compiler, self.launcher = shlex.split(compiler), shlex.split(launcher)
        self.libraries = shlex.split(libraries)

    def check(self, folder):
        """Compiles and runs an empty program. Throws Missing."""
        for command in (self.compiler, self.launcher):
            if shutil.which(command[0]) is None:
                raise Missing(f"{command[0]} is not there")
        source = os.path.join(folder, "empty.c")
        with open(source, "w", encoding="utf-8") as text:
            text.write("#include <mpi.h>\nint main(int c, char** v) { return MPI_Init(&c, &v) || MPI_Finalize(); }\n")
        job = self.run(self.compile(source, [], folder), [], 1, 1, {}, 60)
        if job.problem:
            raise Missing(f"an empty program does not run: {job.problem}")

    def compile(self, source, flags, folder):
        """Returns the path of the program. Throws Missing."""
        name = os.path.basename(source)
        if name.endswith(".py"):
            return source
        program = os.path.join(folder, f"{self.name}_{name[:-2]}")
        if not os.path.exists(program):
            command = [*self.compiler, "-O2", *flags, source, "-o", program, "-lm", *self.libraries]
            done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            if done.returncode:
                raise Missing(f"{shlex.join(self.compiler)} cannot build {name}: {first_error(done.stdout)}")
        return program

    def command(self, program, arguments, processes, ranks):
        each = ["-nfg", str(ranks)] if self.name == OURS else []
        return [*self.launcher, "-n", str(processes), *each, program, *arguments]

    def run(self, program, arguments, processes, ranks, environment, seconds):
        """Runs a job for at most so many seconds, or as many times more as the machine has runnable threads a core."""
        seconds = round(seconds * max(1, os.getloadavg()[0] / (os.cpu_count() or 1)))
        return Job(self.command(program, arguments, processes, ranks), environment, seconds)

    def describe(self):
        """Returns what the page says about the library."""
        version = first_line([self.launcher[0], "--version"])
        if self.name == MPICH:
            version = first_line(["sh", "-c", f"{self.launcher[0]} --version | sed -n 's/ *Version: */MPICH /p'"]) or version
        return {"name": self.title, "version": version, "compiler": shlex.join(self.compiler),
                "launcher": shlex.join(self.launcher)}


class Job:
    """A command that has run: its output, its seconds, and `problem`, which is "" where it ended well."""

    def __init__(self, command, environment, seconds):
        self.command, self.text, self.problem = command, "", ""
        begin = time.monotonic()
        process = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                                   env={**os.environ, **environment})
        try:
            self.text, errors = process.communicate(timeout=seconds)
            if process.returncode:
                self.problem = f"status {process.returncode}: {last_words(errors) or last_words(self.text)}"
        except subprocess.TimeoutExpired:
            self.text = end(process)
            self.problem = f"did not end within {seconds} s"
        except BaseException:  # an interrupt must not leave the job behind
            end(process)
            raise
        self.ended = not self.problem.startswith("did not end")
        self.seconds = time.monotonic() - begin


def first_error(text):
    """Returns the first line of a compiler or linker that says what is wrong."""
    lines = text.strip().splitlines() or [""]
    return next((line for line in lines if "error" in line or "cannot" in line), lines[-1])[:200]


def last_words(text):
    """Returns the last line of a text that has words."""
    lines = [line.strip() for line in text.splitlines() if any(letter.isalpha() for letter in line)]
    return lines[-1][:200] if lines else ""


def end(process):
    """Ends a job, by its launcher where that takes its ranks along; returns what the job has printed."""
    process.terminate()
    try:
        return process.communicate(timeout=10)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0]


def found(options, folder, say):
    """Returns {name: Library} of those that can be used, and {name: why not} of the others."""
    every = [Library(OURS, f"{options.build}/bin/mpicc", f"{options.build}/bin/mpiexec {options.options}"),
             Library(MPICH, options.mpich_cc, options.mpich_run),
             Library(OPENMPI, options.openmpi_cc, options.openmpi_run, options.openmpi_libs)]
    here, missing = {}, {}
    for library in every:
        try:
            library.check(folder)
            here[library.name] = library
        except Missing as why:
            missing[library.name] = str(why)
            say(f"{library.title} is left out: {why}")
    return here, missing
