# mpiexec -rewind FILE -events: the numbers of events, filters, lines.
. "$(dirname "$0")/common.sh"
recorded 0 -ranks 3 "$programs/ends"
"$bin/mpiexec" -rewind run.rec -events >all || fail "-events: status"
awk '$1 != NR { exit 1 }' all || fail "-events: numbers are not in order"
[ "$(grep -c 'MPI_Sendrecv_replace rank' all)" = 60 ] || fail "-events: not 60 exchanges"
grep -qE "^[0-9]+ rank 2 MPI_Sendrecv_replace rank 0, count 1 at ends.c:[0-9]+ \(talk\)$" all || fail "-events: a line"
"$bin/mpiexec" -rewind run.rec -events 1 -call MPI_Barrier >some || fail "-events 1: status"
diff some <(grep "rank 1 MPI_Barrier" all) || fail "-events 1 -call MPI_Barrier"
