#!/usr/bin/env bash
# Jobs on four hosts, each a network namespace with a name of its own, connect and spawn: each on one host, over several, and
# such that some of their processes share a host and others do not.
#   hosts.sh BIN PROGRAMS
# Needs LIBFABRIC: parts of it run over the network.
set -u
. "$(dirname "$0")/../namespaces.sh"
bin=$1 programs=$2 failed=0
enter_namespaces "$programs/pair" "$0" "$@"
make_hosts 4

# meet NAME [ROUNDS] -- MPIEXEC-ARGUMENTS -- MPIEXEC-ARGUMENTS: two jobs, PROGRAM stands for the program.
meet() {
  local name=$1 first=() second=() a status
  shift
  while [ "$1" != -- ]; do first+=("$1"); shift; done
  shift
  second=("$@")
  rm -f /mnt/port
  timeout 100 "$bin/mpiexec" "${first[@]}" "$programs/pair" accept /mnt/port 2 >/mnt/a 2>&1 </dev/null &
  a=$!
  timeout 100 "$bin/mpiexec" "${second[@]}" "$programs/pair" connect /mnt/port 2 >/mnt/b 2>&1 </dev/null
  status=$?
  if wait $a && [ $status = 0 ] && grep -q "No Errors" /mnt/a && grep -q "No Errors" /mnt/b; then
    echo "passed $name"
  else
    echo "FAILED $name"
    head -8 /mnt/a /mnt/b | cut -c1-300
    failed=1
  fi
}
meet "one host each" -n 1 /mnt/on 0 -- -n 1 /mnt/on 1
meet "one host each, several processes" -n 2 -nfg 3 /mnt/on 0 -- -n 3 -nfg 2 /mnt/on 1
meet "four hosts, the same for both jobs" -n 4 -nfg 2 /mnt/put -- -n 8 /mnt/put
meet "four hosts and one of them" -n 4 -nfg 3 /mnt/put -- -n 2 -nfg 2 /mnt/on 2
meet "no shared memory" -n 4 -env FGMPI_TRANSPORT ofi /mnt/put -- -n 2 -env FGMPI_TRANSPORT ofi /mnt/on 2

# spawn NAME P C COMMAND...: a job on host 0 whose children are started by the command.
spawn() {
  local name=$1 p=$2 c=$3 out
  shift 3
  if out=$(timeout 100 "$bin/mpiexec" -n "$p" -nfg "$c" /mnt/on 0 "$programs/torrent" "$@" 2>&1 </dev/null) &&
    grep -q "No Errors" <<<"$out"; then
    echo "passed $name"
  else
    echo "FAILED $name"
    head -8 <<<"$out" | cut -c1-300
    failed=1
  fi
}
spawn "children on the same host" 2 2
spawn "children on another host" 2 2 /mnt/on 1
spawn "children on four hosts" 4 1 /mnt/put
exit $failed
