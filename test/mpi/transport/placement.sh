#!/usr/bin/env bash
# Where processes are bound: -bind-to and -map-by reach the launcher, and `fgmpi-info -v` reports what the kernel says;
# machines of several NUMA nodes are pretended (HWLOC_SYNTHETIC). What 64 idle processes cost in memory.
#   placement.sh BIN PROGRAMS
set -u
bin=$1 programs=$2 failed=0
fail() { echo "FAILED $*"; failed=1; }
cores=$(nproc)
inside='sed -n "s/Cpus_allowed_list:.*\t/$PMI_RANK allowed /p" /proc/self/status
        "$0" -v | sed -n "s/^binding  *processing units \([0-9,-]*\).*/$PMI_RANK reported \1/p"
        "$0" -v | sed -n "s/^NUMA nodes  */$PMI_RANK node /p"'
# Each process runs fgmpi-info on its own, so that it needs no others.
look() { FGMPI_SINGLETON=yes timeout 30 "$bin/mpiexec" "$@" sh -c "unset PMI_FD PMI_PORT; $inside" "$bin/fgmpi-info" 2>&1 </dev/null; }
of() { sed -n "s/^$1 $2 //p" <<<"$out"; }

for how in none core hwthread numa socket machine rr l3cache user:0,$((cores - 1)) "core -map-by hwthread"; do
  # shellcheck disable=SC2086
  out=$(look -bind-to $how -n 2)
  for p in 0 1; do
    [ -n "$(of $p allowed)" ] && [ "$(of $p allowed)" = "$(of $p reported)" ] ||
      fail "-bind-to $how: process $p may run on '$(of $p allowed)', fgmpi-info says '$(of $p reported)'"
  done
  if [ "$cores" -gt 1 ]; then
    case $how in
      core* | hwthread | user*) [ "$(of 0 allowed)" != "$(of 1 allowed)" ] || fail "-bind-to $how binds both to $(of 0 allowed)" ;;
      none) [ "$(of 0 allowed)" = "$(of 1 allowed)" ] || fail "-bind-to none binds" ;;
    esac
  fi
done

# Without hwloc the library reads the nodes of the machine itself, from the kernel's files.
if [ "$cores" -gt 1 ] && "$bin/fgmpi-info" | grep -qE '^optional parts .*\bHWLOC(,|$)'; then
  export HWLOC_SYNTHETIC="numa:2 core:1 pu:1" HWLOC_THISSYSTEM=1
  out=$(look -bind-to numa -n 2)
  for p in 0 1; do
    [ "$(of $p allowed)" = $p ] && [ "$(of $p node)" = "$p of 2" ] ||
      fail "two NUMA nodes, -bind-to numa: process $p on '$(of $p allowed)', node '$(of $p node)'"
  done
  out=$(look -bind-to core:2 -map-by numa -n 2)
  [ "$(of 0 node)" = "0-1 of 2" ] || fail "two cores of two nodes: '$(of 0 node)'"
  unset HWLOC_SYNTHETIC HWLOC_THISSYSTEM
fi

for bad in "-bind-to nonsense" "-bind-to core:x" "-bind-to core:0" "-bind-to user:x" "-bind-to user:1,,2" "-map-by none" "-map-by nonsense"; do
  # shellcheck disable=SC2086
  out=$(timeout 30 "$bin/mpiexec" $bad -n 2 true 2>&1 </dev/null)
  status=$?
  [ $status != 0 ] && [ "$(wc -l <<<"$out")" = 1 ] && grep -q -- "^mpiexec: $bad: allowed are" <<<"$out" ||
    fail "$bad: status $status, '$out'"
done

# 64 processes which have all talked to all others wait: their memory, shared pages counted once.
"$bin/mpiexec" -n 64 -nfg 1 "$programs/traffic" wait </dev/null >/dev/null 2>&1 &
job=$!
pids=
for ((i = 0; i < 200; i++)); do
  proxy=$(pgrep -P $job | head -1)
  pids=$([ -n "$proxy" ] && pgrep -P "$proxy")
  [ "$(wc -w <<<"$pids")" = 64 ] && break
  sleep 0.1
done
sleep 3
total=0
for p in $pids; do
  pss=$(sed -n 's/^Pss: *\([0-9]*\) kB/\1/p' "/proc/$p/smaps_rollup" 2>/dev/null)
  total=$((total + ${pss:-0}))
done
kill $job
wait $job 2>/dev/null
echo "64 processes after messages between all pairs: $((total / 1024)) MiB in all"
# The sanitizers' processes are larger.
if ldd "$programs/traffic" | grep -q libasan; then limit=100000000; else limit=$((160 * 1024)); fi
[ $total -gt 1000 ] && [ $total -lt $limit ] || fail "64 processes take $total KiB"
exit $failed
