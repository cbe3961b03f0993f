# `sender`: from each receive to the send of its message, in runs of several orders.
. "$(dirname "$0")/common.sh"
for ranks in 1 2 6 17; do
  recorded 0 -ranks $ranks "$programs/messages"
  python3 "$here/senders.py" "$bin/mpiexec" run.rec out.recorded || fail "senders of $ranks ranks"
  recorded 0 -ranks $ranks -env FGMPI_SCHED random:$ranks "$programs/messages"
  python3 "$here/senders.py" "$bin/mpiexec" run.rec out.recorded || fail "senders of $ranks ranks, another order"
done
# A wait leads to the messages of the receives that it completes; other calls have none.
recorded 0 -ranks 6 "$programs/messages"
"$bin/mpiexec" -rewind run.rec -events >all || fail "-events: status"
first=$(awk '$4 == "MPI_Irecv" { print $1; exit }' all)
wait=$(awk -v first="$first" '$1 > first && $4 == "MPI_Waitall" { print $1; exit }' all)
printf '%s\n' "goto $first" sender "goto $wait" sender 'sender 2' 'goto 1' sender quit |
  "$bin/mpiexec" -rewind run.rec -goto last >out || fail "senders of a wait: status"
[ "$(sed -n 's/^at \([0-9]*\) of .*; message 1 of 1$/\1/p' out)" = "$(sed -n 's/^at \([0-9]*\) of .*; message 1 of 3$/\1/p' out)" ] ||
  fail "a wait: another sender than its receive has: $(cat out)"
grep -q "^MPI_[A-Z][a-z_]* receives no message; allowed is a receive, or a wait for one" out || fail "no receive: not said: $(cat out)"
recorded 1 -ranks 4 "$programs/ends" deadlock
printf '%s\n' sender quit | "$bin/mpiexec" -rewind run.rec -goto last >out || fail "senders of a deadlock: status"
grep -q "^no message has matched this MPI_Recv up to the end of the run" out || fail "a deadlock: $(cat out)"
