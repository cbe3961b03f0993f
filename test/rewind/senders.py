"""Compares the answers of `sender` with what test/rewind/messages.c has printed.

  senders.py MPIEXEC RECORDING OUTPUT
"""

import re
import subprocess
import sys

SENDS = ("MPI_Send", "MPI_Ssend", "MPI_Isend", "MPI_Send_init", "MPI_Sendrecv")
RECEIVES = ("MPI_Recv", "MPI_Irecv", "MPI_Mprobe", "MPI_Recv_init", "MPI_Sendrecv")
# The event that does what the call before has prepared.
DONE_BY = {"MPI_Send_init": "MPI_Start", "MPI_Recv_init": "MPI_Start"}


def calls_of(events, names):
    """Returns the events of each rank by these calls, in order."""
    found = {}
    for at, (number, rank, call) in enumerate(events):
        if call not in names:
            continue
        if call in DONE_BY:
            number = next(n for n, r, c in events[at + 1 :] if r == rank and c == DONE_BY[call])
        found.setdefault(rank, []).append(number)
    return found


def main():
    mpiexec, recording, output = sys.argv[1:]
    text = subprocess.run([mpiexec, "-rewind", recording, "-events"], capture_output=True, text=True, check=True).stdout
    events = [(int(n), int(rank), call) for n, rank, call in re.findall(r"^(\d+) rank (\d+) (\w+)", text, re.M)]
    sends, receives = calls_of(events, SENDS), calls_of(events, RECEIVES)
    wanted = {}
    with open(output) as lines:
        for line in lines:
            rank, receive, sender, send = map(int, line.split())
            wanted[receives[rank][receive - 1]] = sends[sender][send - 1]
    commands = "".join("goto %d\nsender\n" % event for event in wanted) + "quit\n"
    answers = subprocess.run([mpiexec, "-rewind", recording, "-goto", "1"], input=commands, capture_output=True, text=True, check=True).stdout
    places = [int(event) for event in re.findall(r"^at (\d+) of", answers, re.M)][1:]
    if len(places) != 2 * len(wanted):
        sys.exit("%d places instead of %d:\n%s" % (len(places), 2 * len(wanted), answers))
    wrong = [(e, s, seen) for (e, s), seen in zip(wanted.items(), places[1::2]) if s != seen]
    if places[::2] != list(wanted) or wrong:
        sys.exit("the messages of events came from others (event, its send, the answer): %s" % wrong[:5])
    print("%d messages" % len(wanted))


main()
