"""Each rank has an interpreter of its own: modules, threads, output and exit status. Usage: interpreters.py [STATUS]"""
import array
import json
import math
import resource
import sys
import threading

import exchange

rank, size = exchange.rank(), exchange.size()
assert exchange.is_thread_main()

# Settings of an interpreter, and attributes of modules.
sys.setrecursionlimit(1000 + rank)
math.rank = rank
json.seen = [rank]

sums = array.array("d", [rank, 1, -rank])
exchange.allreduce(sums)
assert list(sums) == [size * (size - 1) / 2, size, -size * (size - 1) / 2], sums

out, back = array.array("d", range(rank, rank + 1000)), array.array("d", [0] * 1000)
right, left = (rank + 1) % size, (rank + size - 1) % size
if rank % 2 == 0 and size > 1:
    exchange.send(out, right)
if size > 1:
    exchange.receive(back, left)
if rank % 2 == 1:
    exchange.send(out, right)
assert size == 1 or list(back) == list(range(left, left + 1000))

in_threads = []
def work(number):
    in_threads.append((number, exchange.rank(), exchange.is_thread_main()))
threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert sorted(in_threads) == [(i, rank, False) for i in range(3)], in_threads

try:
    exchange.allreduce(array.array("i", [1]))
    sys.exit("an array of integers was taken")
except TypeError:
    pass
exchange.allreduce(sums)
assert exchange.count() == (4 if size > 1 else 2), exchange.count()
assert sys.getrecursionlimit() == 1000 + rank and math.rank == rank and json.seen == [rank]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
sys.stdout.write("rank %d of %d is well, %d KiB in the process\n" % (rank, size, peak))
if len(sys.argv) > 1 and rank == size - 1:
    sys.exit(int(sys.argv[1]))
