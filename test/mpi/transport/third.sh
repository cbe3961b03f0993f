#!/usr/bin/env bash
# A library with a third transport (test/unit/transport/datagram), which no other file of it names, runs MPI programs over
# that one: alone, and together with the network.   third.sh BIN PROGRAMS
# Needs LIBFABRIC: parts of it run over the network.
set -u
bin=$1 programs=$(dirname "$2") failed=0
library=$(dirname "$bin")/test/third/libmpich.so.12
if ldd "$2/traffic" | grep -q libasan; then echo "skipped: the sanitizer's library must come first"; exit 0; fi
[ -e "$library" ] || { echo "FAILED no $library"; exit 1; }
check() {  # check NAME ok|bad COMMAND...
  local name=$1 expected=$2 out status
  shift 2
  SECONDS=0
  out=$(timeout -k 5 100 "$bin/mpiexec" "$@" 2>&1 </dev/null)
  status=$?
  case $expected-$status in ok-0 | bad-[1-9] | bad-1[0-9]) ;; *) echo "FAILED $name: exit status $status"; head -5 <<<"$out"; failed=1 ;; esac
  echo "done $name (${SECONDS} s)"
  last=$out
}
# The library without it does not know the name.
check "unknown elsewhere" bad -n 2 -env FGMPI_TRANSPORT datagram "$programs/basic/ring"
grep -q "FGMPI_TRANSPORT=datagram: allowed is .* out of shm,ofi$" <<<"$last" || { echo "FAILED says: $last"; failed=1; }

third=(-env LD_PRELOAD "$library" -env FGMPI_TRANSPORT datagram)
for program in transport/traffic pt2pt/modes pt2pt/order pt2pt/probes pt2pt/completion coll/messages \
  comm/create apps/halo26 apps/samplesort; do
  check "$program, 4 x 3" ok -n 4 -nfg 3 "${third[@]}" "$programs/$program"
done
check "coll/random, 2 x 3" ok -n 2 -nfg 3 "${third[@]}" "$programs/coll/random"
check "random schedule" ok -n 2 -nfg 16 "${third[@]}" -env FGMPI_SCHED random:5 "$programs/pt2pt/order"
# Two hosts of two processes: datagrams inside, the network between.
both=(-nfg 3 -env LD_PRELOAD "$library" -env FGMPI_TRANSPORT datagram,ofi)
for program in transport/traffic coll/messages; do
  check "$program, with the network between" ok -n 2 "${both[@]}" -env FGMPI_HOST_ID one "$programs/$program" : \
    -n 2 "${both[@]}" -env FGMPI_HOST_ID two "$programs/$program"
done
check "not beyond its host" bad -n 1 "${third[@]}" -env FGMPI_HOST_ID one "$programs/basic/ring" : \
  -n 1 "${third[@]}" -env FGMPI_HOST_ID two "$programs/basic/ring"
grep -q "no transport reaches process" <<<"$last" || { echo "FAILED says: $last"; failed=1; }
exit $failed
