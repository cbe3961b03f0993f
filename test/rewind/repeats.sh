# Runs that use clocks, random numbers, standard input, folders; whose messages come in an order that depends on them; and that
# end in all ways: each repeats exactly, several times, beside busy loops. FGMPI_TEST_REPEATS says how often.
. "$(dirname "$0")/common.sh"
repeats=${FGMPI_TEST_REPEATS:-3}

# repeats STATUS OPTION...: recorded once, repeated several times.
repeats() {
  recorded "$@"
  for ((i = 0; i < repeats; ++i)); do repeated "$1"; done
}

for _ in 1 2; do
  (while :; do :; done) &
  loops="${loops:-} $!"
done
trap 'kill $loops; rm -rf "$scratch"' EXIT

printf 'one\ntwo words\nlast' >words
echo "the first line" >data
for ranks in 1 4 64; do
  input=words
  repeats 0 -ranks $ranks "$programs/inputs" data
  repeats 0 -ranks $ranks "$programs/chance"
  input=/dev/null
  repeats 0 -ranks $ranks "$programs/order" 5
  repeats 0 -ranks $ranks -env FGMPI_SCHED random:7 "$programs/order" 3
done
(sleep 0.2; echo late; sleep 0.1; echo later) | timeout 60 "$bin/mpiexec" -record run.rec -ranks 4 "$programs/inputs" >out.recorded || fail "late input"
repeated 0
for end in "abort 5" "exit 7" "deadlock 1" "segfault 139" "fault 139"; do
  set -- $end
  for ranks in 1 4 64; do
    repeats "$2" -ranks $ranks "$programs/ends" "$1"
  done
done
