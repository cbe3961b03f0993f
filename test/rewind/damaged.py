"""Damages a recording in many ways: repeating it ends with a clear line, or as the recorded run did; never by a crash or a hang.

  damaged.py MPIEXEC RECORDING OUTPUT STATUS TIMES
"""

import random
import subprocess
import sys

CLEAR = ("mpiexec: -rewind: ", "fgmpi: rewind: ")
# Ends a line that is also there when nothing is damaged.
KEPT = "its contents in the recording are used"


def damage(data, chance):
    """Changes some bytes, cuts the file, or puts bytes of one place to another."""
    kind = chance.choice(("flip", "flip", "flips", "cut", "zeros", "copy", "number"))
    # Most of a small recording is empty: what is written lies in the first pages, the open chunks and behind them.
    place = chance.choice((chance.randrange(len(data)), chance.randrange(128), 4096 + chance.randrange(2048),
                           4096 + 65536 + chance.randrange(512), 4096 + 2 * 65536 + chance.randrange(len(data) - 4096 - 2 * 65536)))
    place = min(place, len(data) - 1)
    if kind == "flip":
        data[place] ^= 1 << chance.randrange(8)
    elif kind == "flips":
        for _ in range(chance.randrange(2, 50)):
            data[min(place + chance.randrange(200), len(data) - 1)] ^= chance.randrange(1, 256)
    elif kind == "cut":
        del data[place:]
    elif kind == "zeros":
        end = min(place + chance.choice((8, 100, 5000)), len(data))
        data[place:end] = bytes(end - place)
    elif kind == "copy":
        size = chance.choice((8, 64, 4096))
        other = chance.randrange(len(data))
        data[place : place + size] = data[other : other + size]
    else:
        value = chance.choice((0, 1, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1))
        data[place : place + 8] = value.to_bytes(8, "little")
    return "%s at %d" % (kind, place)


def main():
    mpiexec, recording, output, status, times = sys.argv[1:]
    with open(recording, "rb") as file:
        whole = file.read()
    with open(output, "rb") as file:
        wanted = file.read()
    chance, same = random.Random(1), 0
    for number in range(int(times)):
        data = bytearray(whole)
        what = damage(data, chance)
        with open("damaged.rec", "wb") as file:
            file.write(data)
        listed = ["-events"] if number % 4 == 3 else []
        try:
            done = subprocess.run([mpiexec, "-rewind", "damaged.rec", *listed], capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            sys.exit("%d, %s: it hangs" % (number, what))
        lines = done.stderr.decode(errors="replace").splitlines()
        errors = "\n".join(line for line in lines if not line.endswith(KEPT))
        if done.returncode == int(status) and (listed or done.stdout == wanted) and not any(words in errors for words in CLEAR):
            same += 1
        elif done.returncode < 0 or done.returncode > 137 or not any(words in errors for words in CLEAR):
            sys.exit("%d, %s: status %d: %s" % (number, what, done.returncode, errors[-500:]))
    print("%d damaged files: %d run as recorded, %s end with a line" % (int(times), same, int(times) - same))


main()
