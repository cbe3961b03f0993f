#!/usr/bin/env bash
# One-sided communication between four hosts, each a network namespace with a name of its own: the randomised programs,
# atomics of all at one word, locks of the program's own, windows of gigabytes, a target that computes; by messages and by
# the provider's reads, writes and atomics, with one process and with two on each host.
#   hosts.sh BIN PROGRAMS
# Needs LIBFABRIC: parts of it run over the network.
set -u
. "$(dirname "$0")/../namespaces.sh"
bin=$1 programs=$2 failed=0
enter_namespaces "$programs/model" "$0" "$@"
make_hosts 4

# run P C WORDS PROGRAM [ARGUMENT]: WORDS are settings.
run() {
  local p=$1 c=$2 words=$3 out status
  shift 3
  local program=$1
  shift
  out=$(env $words timeout -k 5 100 "$bin/mpiexec" -n "$p" -nfg "$c" /mnt/put "$programs/$program" "$@" 2>&1 </dev/null)
  status=$?
  if [ $status != 0 ] || ! grep -q "No Errors" <<<"$out"; then
    echo "FAILED $program at $p x $c, $words: exit status $status"
    head -5 <<<"$out"
    failed=1
  else
    echo "passed $program at $p x $c, $words"
  fi
}
out=$(timeout -k 5 30 "$bin/mpiexec" -n 4 /mnt/put "$bin/fgmpi-info" -v 2>&1 </dev/null)
[ "$(grep -c '^transport  *ofi.*: to processes' <<<"$out")" = 4 ] || {
  echo "FAILED: the processes are not on four hosts:"; grep '^transport\|^host\|problem' <<<"$out"; failed=1; }
for network in FGMPI_RMA_NETWORK=messages FGMPI_RMA_NETWORK=provider \
  "FGMPI_RMA_NETWORK=provider FI_PROVIDER=tcp,ofi_rxm"; do
  run 4 1 "$network" model hosts
  run 8 2 "$network" model hosts
  run 4 16 "$network" atomics
  run 8 1 "$network" random_access
  run 4 1 "$network" ways
done
for network in FGMPI_RMA_NETWORK=messages FGMPI_RMA_NETWORK=provider; do
  run 8 2 "$network" atomics
  run 4 2 "$network FGMPI_SCHED=random:5" model hosts
  run 4 2 "$network" spinning
  run 4 1 "$network" huge hosts
  run 4 1 "$network FGMPI_RMA_PROGRESS=thread" computing
  run 4 50 "$network" many
done
if out=$(timeout 300 bash "$(dirname "$0")/conflicts.sh" "$bin" "$programs" /mnt/put 2>&1); then
  echo "passed conflicts.sh"
else
  echo "FAILED conflicts.sh: $out"
  failed=1
fi
exit $failed
