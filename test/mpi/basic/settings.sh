# Settings: a wrong value is one line that names the variable, its value and what is allowed, and nothing runs; an empty value
# is as none; fgmpi-info -s shows values and where they come from.   settings.sh BIN PROGRAMS
set -u
bin=$1 program=$2/hello failed=0
fail() { echo "FAILED $*"; head -5 <<<"$out"; failed=1; }
refused() { # refused LINE COMMAND...: by one line and nothing else
  local line=$1 status
  shift
  out=$(timeout 60 "$@" 2>&1 </dev/null)
  status=$?
  [ $status = 1 ] || fail "$*: exit status $status"
  [ "$out" = "$line" ] || fail "$*: does not say: $line"
}
runs() { out=$(timeout 60 "$@" 2>&1 </dev/null) || fail "$*: exit status $?"; }

# Before a process is started, from the environment and from options.
refused "mpiexec: FGMPI_SPIN=abc: allowed is a number from 0 to 1000000" env FGMPI_SPIN=abc "$bin/mpiexec" -n 4 "$program"
refused "mpiexec: FGMPI_WATCH=maybe: allowed is on or off" "$bin/mpiexec" -n 4 -genv FGMPI_WATCH maybe "$program"
refused "mpiexec: FGMPI_OFI_SEND=1k: allowed is a size from 16k to 1g" "$bin/mpiexec" -n 2 -env FGMPI_OFI_SEND 1k "$program"
refused "mpiexec: FGMPI_SCHED=best: allowed is fifo, lifo or random:NUMBER" "$bin/mpiexec" -x FGMPI_SCHED=best -n 2 "$program"
# By a program without a launcher, also one that would never look at it.
for setting in FGMPI_SPIN=abc FGMPI_SHM_CELLS=1 FGMPI_SHM_CMA=perhaps FGMPI_SHM_MEMBARRIER=2 FGMPI_CRASH_REPORT=x \
  FGMPI_OFI_READ=maybe FGMPI_WATCH=of FGMPI_LEAKS=2 FGMPI_COLL_BCAST=teleport FGMPI_GROUPMAP=none FGMPI_NFG=0; do
  refused "fgmpi: $setting: allowed is $("$bin/fgmpi-info" -s -markdown |
    sed -n "s/^| \`${setting%%=*}\` | \(.*[^ ]\) | .* | .* |$/\1/p" | sed 's/ \(ranks\|cells\|microseconds\)$//')" \
    env "$setting" "$program"
done
# Settings that only the library checks.
names=shm,ofi
"$bin/fgmpi-info" | grep -qE '^  missing +LIBFABRIC' && names='shm (this build has no ofi'
out=$(FGMPI_TRANSPORT=tcp timeout 60 "$program" 2>&1)
case $out in
  "fgmpi: FGMPI_TRANSPORT=tcp: allowed is a list of at most 2 different names out of $names"*) ;;
  *) fail "FGMPI_TRANSPORT=tcp" ;;
esac

# An empty value is as none.
runs env FGMPI_SPIN= FGMPI_SCHED= FGMPI_TRANSPORT= FGMPI_NFG= FGMPI_RANKS= FGMPI_WATCH= FGMPI_COLL_BCAST= FGMPI_LEAKS= \
  FGMPI_PRIVATIZE= FGMPI_DEADLOCK= FGMPI_HOST_MPI= FGMPI_HYDRA= "$bin/mpiexec" -n 2 "$program"

out=$(env -u FGMPI_LEAKS FGMPI_SPIN=17 FGMPI_SPINN=1 "$bin/fgmpi-info" -s) || fail "fgmpi-info -s: exit status $?"
grep -qxE " +FGMPI_SPIN +environment 17 microseconds" <<<"$out" || fail "FGMPI_SPIN is not shown"
grep -qxE " +FGMPI_LEAKS +default +off" <<<"$out" || fail "FGMPI_LEAKS is not shown"
grep -qxE " +FGMPI_STACK_SIZE +default +by ranks" <<<"$out" || fail "FGMPI_STACK_SIZE is not shown"
grep -q "^FGMPI_SPINN is set, but no setting" <<<"$out" || fail "FGMPI_SPINN is not told"
out=$(FGMPI_SPIN=x "$bin/fgmpi-info" -s) && fail "fgmpi-info -s: nonsense is no failure"
grep -q "FGMPI_SPIN=x: allowed is a number" <<<"$out" || fail "nonsense is not shown"
runs "$bin/mpiexec" -n 1 -env FGMPI_SPIN 3 "$bin/fgmpi-info" -s
grep -qxE " +FGMPI_SPIN +environment 3 microseconds" <<<"$out" || fail "what a process sees is not shown"
exit $failed
