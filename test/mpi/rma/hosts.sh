#!/usr/bin/env bash
# One-sided communication between four hosts, each a network namespace with a name of its own: the randomised programs,
# atomics of all at one word, locks of the program's own, windows of gigabytes, a target that computes; by messages and by
# the provider's reads, writes and atomics, with one process and with two on each host.
#   hosts.sh BIN PROGRAMS
set -u
bin=$1 programs=$2
if [ -z "${FGMPI_HOSTS_INSIDE:-}" ]; then
  why=$(unshare --net --mount --pid --fork --mount-proc sh -c 'mount -t tmpfs none /run/netns &&
    ip link set lo up && ip netns add other && ip link add b0 type bridge' 2>&1) || {
    echo "skipped: no namespaces can be made here: $why"; exit 0; }
  if ldd "$programs/model" | grep -q libasan; then echo "skipped: the sanitizer's processes need rights of their own"; exit 0; fi
  FGMPI_HOSTS_INSIDE=1 exec unshare --net --mount --pid --fork --mount-proc --kill-child bash "$0" "$@"
fi
failed=0
for place in /mnt /run/netns; do mount -t tmpfs none $place; done  # gone with the sandbox
ip link set lo up
ip link add b0 type bridge
ip link set b0 up
for host in 0 1 2 3; do
  ip netns add host$host
  ip link add v$host type veth peer name e$host netns host$host
  ip link set v$host master b0 up
  ip -n host$host address add 10.79.0.$((host + 1))/24 dev e$host
  ip -n host$host link set e$host up
  ip -n host$host link set lo up
done
cat > /mnt/named <<'END'
#!/bin/sh
hostname "$1"; shift; exec "$@"
END
cat > /mnt/put <<'END'
#!/bin/sh
host=host$((PMI_RANK % 4))
exec ip netns exec $host unshare --uts /mnt/named $host "$@"
END
chmod +x /mnt/named /mnt/put

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
