"""Jobs that end in order, many times, beside four busy loops: no process may be taken for lost, whatever the order in
which the others and the launcher learn of its end.

  ends_in_order.py BIN PROGRAMS [JOBS [SEED]]

This is the launcher of most of the jobs itself (it speaks hydra's protocol, PMI-1), so that it can choose the worst
moments: it answers "finalize" and closes its end of the connection long after the process has ended, asks for the
process's end late, and stops processes (SIGSTOP) when others reach a certain point. Every tenth job is one of mpiexec's.
Each job must end with status 0 of all processes and without a word. In a few jobs one process is killed when all are
leaving: then its watcher, and nobody else, must report that (killed.sh has the earlier stages)."""
import os
import random
import re
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
from busy import busy_loops

BIN, PROGRAM = sys.argv[1], os.path.join(sys.argv[2], "ends_in_order")
JOBS = int(sys.argv[3]) if len(sys.argv) > 3 else 500
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else 1
AT_ONCE = 16  # jobs that run side by side
LIMIT = 90  # seconds that one job may take


class Plan:
    """What happens in one job; `seed` alone decides."""

    def __init__(self, seed):
        r = random.Random(seed)
        self.seed = seed
        self.processes = r.choice([2, 2, 2, 3, 3, 4])
        self.ranks = r.choice([1, 1, 2, 4])
        self.transport = r.choice(["shm", "shm", "ofi"])
        self.messages = r.choice([0, 0, 1, 3])
        self.late = [r.choice([0, 0, 0, 1, 5, 20]) for _ in range(self.processes)]
        self.killed = None  # who, when all have said that they are leaving
        # How long the launcher keeps its end of a process's connection open after its last answer.
        self.close_late = [r.choice([0, 0.001, 0.02, 0.1]) for _ in range(self.processes)]
        # (who says what the how-manieth time, who is stopped then, for how long)
        self.stops = []
        for _ in range(r.choice([0, 1, 1, 2])):
            said = r.choice(["barrier_in", "finalize", "finalize", "ended"])
            self.stops.append((r.randrange(self.processes), said, r.randrange(self.processes),
                               r.choice([0.001, 0.01, 0.05, 0.2])))


def kill(seed):
    plan = Plan(seed)
    plan.killed = random.Random(seed).randrange(plan.processes)
    plan.stops = []
    return plan


def long_stop(transport):
    """All but process 0 have come to their ends, then process 1 is stopped for longer than any time that the library
    waits for something, then process 0 comes to its end too. Others have all that they need then, but for process 3,
    which needs a message of process 1."""
    plan = Plan(0)
    plan.seed = "a long stop over " + transport
    plan.processes, plan.ranks, plan.transport, plan.messages = 4, 1, transport, 1
    plan.late, plan.close_late = [1500, 0, 0, 0], [0] * 4
    plan.stops = [(1, "connected", 1, 12)]
    return plan


class Process:
    def __init__(self, plan, index):
        self.index = index
        self.launcher, theirs = socket.socketpair()
        read_end, write_end = os.pipe()
        environment = dict(os.environ, PMI_FD=str(theirs.fileno()), PMI_RANK=str(index), PMI_SIZE=str(plan.processes),
                           FGMPI_NFG=str(plan.ranks), FGMPI_TRANSPORT=plan.transport,
                           MPI_LOCALNRANKS=str(plan.processes))
        command = [PROGRAM, str(plan.messages)] + [str(ms) for ms in plan.late]
        self.child = subprocess.Popen(command, env=environment, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                                      stdout=write_end, stderr=write_end)
        theirs.close()
        os.close(write_end)
        self.output = read_end
        self.pidfd = os.pidfd_open(self.child.pid)
        self.text = ""
        self.received = b""
        self.ended = False
        self.stopped_until = None


class Job:
    """One run of a plan."""

    def __init__(self, plan):
        self.plan = plan
        self.values, self.waiting, self.fences = {}, [], 0
        self.due = []  # (time, function)
        self.events = selectors.DefaultSelector()
        self.processes = [Process(plan, i) for i in range(plan.processes)]
        for p in self.processes:
            self.events.register(p.launcher, selectors.EVENT_READ, (p, self.heard))
            self.events.register(p.output, selectors.EVENT_READ, (p, self.printed))
            self.events.register(p.pidfd, selectors.EVENT_READ, (p, self.has_ended))
        self.open = 3 * len(self.processes)
        self.trouble = []

    def run(self):
        deadline = time.monotonic() + LIMIT
        while self.open and not self.trouble:
            now = time.monotonic()
            if now > deadline:
                self.trouble.append("it does not end")
                break
            for entry in [d for d in self.due if d[0] <= now]:
                self.due.remove(entry)
                entry[1]()
            wait = min([deadline] + [d[0] for d in self.due]) - time.monotonic()
            for key, _ in self.events.select(max(0, wait)):
                process, action = key.data
                action(process)
        self.clean_up()
        return self.trouble

    def clean_up(self):
        for p in self.processes:
            if not p.ended or self.trouble:
                p.child.kill()
            status = p.child.wait()
            if self.trouble or self.plan.killed is not None:
                continue
            if p.text:
                self.trouble.append("process %d printed: %s" % (p.index, p.text.strip()))
            if status:
                self.trouble.append("process %d ended with %d" % (p.index, status))
        if self.plan.killed is not None and not self.trouble:
            self.check_report()
        for p in self.processes:
            for end in (p.pidfd, p.output):
                os.close(end)
            p.launcher.close()
        self.events.close()

    def check_report(self):
        killed = self.processes[self.plan.killed]
        texts = [p.text for p in self.processes if p.text]
        right = (r"^fgmpi: process %d of the job \(process id %d on host \S+, world ranks? [^)]*\) is gone: "
                 r"killed by signal 9 \(SIGKILL\)\n$" % (killed.index, killed.child.pid))
        if len(texts) != 1 or not re.match(right, texts[0]):
            self.trouble.append("process %d was killed, and all that was said is %s" % (killed.index, texts))

    def forget(self, thing):
        self.events.unregister(thing)
        self.open -= 1

    def later(self, seconds, function):
        self.due.append((time.monotonic() + seconds, function))

    def happened(self, process, what):
        for who, when, whom, seconds in self.plan.stops:
            victim = self.processes[whom]
            if who != process.index or when != what or victim.ended or victim.stopped_until:
                continue
            victim.stopped_until = seconds
            delay = 0.7 if what == "connected" else 0  # the others have come to their ends meanwhile
            self.later(delay, lambda v=victim: v.ended or v.child.send_signal(signal.SIGSTOP))
            self.later(delay + seconds, lambda v=victim: v.ended or v.child.send_signal(signal.SIGCONT))

    def heard(self, p):
        try:
            more = p.launcher.recv(65536)
        except ConnectionError:
            more = b""
        if not more:
            if self.plan.killed is not None:  # the watcher has let go of it: the launcher ends the job
                for other in self.processes:  # stopped first, so that no process observes the kill of another
                    other.child.send_signal(signal.SIGSTOP)
                for other in self.processes:
                    other.child.kill()
            return self.forget(p.launcher)
        p.received += more
        while b"\n" in p.received:
            line, p.received = p.received.split(b"\n", 1)
            words = dict(w.split("=", 1) for w in line.decode().split(" ") if "=" in w)
            self.answer(p, words["cmd"], words)

    def say(self, p, text):
        try:
            p.launcher.send(("cmd=" + text + "\n").encode())
        except OSError:
            pass

    def answer(self, p, command, words):
        fixed = {
            "init": "response_to_init pmi_version=1 pmi_subversion=1 rc=0",
            "get_maxes": "maxes kvsname_max=256 keylen_max=64 vallen_max=1024",
            "get_appnum": "appnum appnum=0",
            "get_universe_size": "universe_size size=%d" % self.plan.processes,
            "get_my_kvsname": "my_kvsname kvsname=kvs_0",
        }
        if command in fixed:
            self.say(p, fixed[command])
        elif command == "put":
            self.values[words["key"]] = words["value"]
            self.say(p, "put_result rc=0 msg=success")
        elif command == "get":
            value = self.values.get(words["key"])
            self.say(p, "get_result rc=0 msg=success value=" + value if value else "get_result rc=-1 msg=unknown")
        elif command == "barrier_in":
            self.happened(p, command)
            self.waiting.append(p)
            if len(self.waiting) == self.plan.processes and self.fences == 2 and self.plan.killed is not None:
                return self.processes[self.plan.killed].child.kill()
            if len(self.waiting) == self.plan.processes:
                waiting, self.waiting = self.waiting, []
                self.fences += 1
                random.Random(self.fences).shuffle(waiting)
                for w in waiting:
                    self.say(w, "barrier_out rc=0")
                if self.fences == 2:
                    for w in waiting:
                        self.happened(w, "connected")
        elif command == "finalize":
            self.say(p, "finalize_ack rc=0")
            self.happened(p, command)
            self.later(self.plan.close_late[p.index], lambda: self.close(p))
        elif command == "abort":
            self.trouble.append("process %d asked for the end of the job: %s" % (p.index, p.text.strip()))
        else:
            self.trouble.append("process %d said %s" % (p.index, command))

    def close(self, p):
        """Not before the process has ended, if that takes no longer than a busy machine may need."""
        if not p.ended and not p.stopped_until:
            return self.later(self.plan.close_late[p.index] or 0.001, lambda: self.close(p))
        if p.launcher in self.events.get_map():
            self.forget(p.launcher)
        p.launcher.close()

    def printed(self, p):
        more = os.read(p.output, 65536)
        p.text += more.decode(errors="replace")
        if not more:
            self.forget(p.output)

    def has_ended(self, p):
        p.ended = True
        self.forget(p.pidfd)
        self.happened(p, "ended")


def run_mpiexec(plan):
    command = [os.path.join(BIN, "mpiexec"), "-n", str(plan.processes), "-nfg", str(plan.ranks), PROGRAM,
               str(plan.messages)] + [str(ms) for ms in plan.late]
    done = subprocess.run(command, env=dict(os.environ, FGMPI_TRANSPORT=plan.transport), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT, check=False)
    trouble = [] if done.returncode == 0 else ["mpiexec ended with %d" % done.returncode]
    return trouble + ([done.stdout.decode(errors="replace").strip()] if done.stdout else [])


def main():
    plans = [(Job, long_stop("ofi")), (Job, long_stop("shm"))]
    for i in range(JOBS):
        seed = "%d/%d" % (SEED, i)
        plans.append((Job if i % 10 else run_mpiexec, kill(seed) if i % 50 == 1 else Plan(seed)))
    plans.reverse()
    failed, lock = [], threading.Lock()

    def work():
        while True:
            with lock:
                if not plans or len(failed) > 20:
                    return
                runner, plan = plans.pop()
            trouble = Job(plan).run() if runner is Job else runner(plan)
            if trouble:
                with lock:
                    failed.append(plan.seed)
                    print("FAILED", "by mpiexec" if runner is run_mpiexec else "", vars(plan), *trouble, sep="\n  ", flush=True)

    start = time.monotonic()
    with busy_loops(4):
        workers = [threading.Thread(target=work) for _ in range(AT_ONCE)]
        for w in workers:
            w.start()
        for w in workers:
            w.join()
    print("%d jobs, %d failed, %.0f s" % (JOBS + 2 - len(plans), len(failed), time.monotonic() - start))
    return 1 if failed else 0


sys.exit(main())
