"""numpy in each rank's interpreter: arrays as buffers of messages, and its settings and random numbers are the rank's."""
import resource
import sys

import exchange
import numpy as np

rank, size = exchange.rank(), exchange.size()
np.random.seed(rank)
np.seterr(all="raise" if rank % 2 else "ignore")

sums = np.full(1000, float(rank))
exchange.allreduce(sums)
assert (sums == size * (size - 1) / 2).all()

out, back = np.arange(5000, dtype=float) + rank, np.zeros(5000)
right, left = (rank + 1) % size, (rank + size - 1) % size
if rank % 2 == 0 and size > 1:
    exchange.send(out, right)
if size > 1:
    exchange.receive(back, left)
if rank % 2 == 1:
    exchange.send(out, right)
assert size == 1 or (back == np.arange(5000) + left).all()

first = np.random.rand(3)
exchange.allreduce(sums)
second = np.random.rand(3)
np.random.seed(rank)
assert (np.random.rand(3) == first).all() and (np.random.rand(3) == second).all()

try:
    np.array([1.0]) / np.array([0.0])
    raised = False
except FloatingPointError:
    raised = True
assert raised == bool(rank % 2)

matrix = np.random.rand(50, 50)
q, r = np.linalg.qr(matrix)
assert np.allclose(q @ r, matrix)
exchange.allreduce(sums)
assert np.allclose(np.fft.ifft(np.fft.fft(matrix)).real, matrix)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
sys.stdout.write("rank %d of %d is well, %d KiB in the process\n" % (rank, size, peak))
