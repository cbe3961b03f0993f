#!/usr/bin/env bash
# What is one host and what are two: process 1 of a job of two is put into namespaces of all kinds, gets other rights or a
# /dev/shm of its own. Which transport joins the two is what fgmpi-info -v says; and messages pass in every case.
#   nodes.sh BIN PROGRAMS
# Needs LIBFABRIC: parts of it run over the network.
set -u
bin=$1 programs=$2
unset FGMPI_TRANSPORT  # which one is chosen is tested
if [ -z "${FGMPI_NODES_INSIDE:-}" ]; then
  why=$(unshare --net --mount --pid --fork --mount-proc sh -c 'mkdir -p /run/netns && mount -t tmpfs none /mnt && mount -t tmpfs none /run/netns &&
    ip link set lo up && ip netns add other && ip link add v0 type veth peer name v1 netns other' 2>&1) || {
    echo "skipped: no namespaces can be made here: $why"; exit 0; }
  if ldd "$programs/traffic" | grep -q libasan; then echo "skipped: the sanitizer's processes need rights of their own"; exit 0; fi
  FGMPI_NODES_INSIDE=1 exec unshare --net --mount --pid --fork --mount-proc --kill-child bash "$0" "$@"
fi
failed=0
for place in /mnt /run/netns /dev/shm; do mount -t tmpfs none $place; done  # gone with the sandbox
. "$(dirname "$0")/../other_users.sh"
show_to_other_users "$(dirname "$bin")" /mnt/build || exit 1
ip link set lo up
ip netns add other
ip link add v0 type veth peer name v1 netns other
ip address add 10.79.0.1/24 dev v0
ip link set v0 up
ip -n other address add 10.79.0.2/24 dev v1
ip -n other link set v1 up
ip -n other link set lo up
cat > /mnt/put <<'END'
#!/bin/sh
[ "$PMI_RANK" = 1 ] || exec "$@"
eval "exec $ENTER \"\$@\""
END
chmod +x /mnt/put
# As another program of ours would: under a name and with a /dev/shm of its own.
cat > /mnt/named <<'END'
#!/bin/sh
hostname "$1"; shift; exec "$@"
END
cat > /mnt/own_shm <<'END'
#!/bin/sh
mount -t tmpfs none /dev/shm && exec "$@"
END
cat > /mnt/no_proc <<'END'
#!/bin/sh
mount -t tmpfs none /proc && exec "$@"
END
chmod +x /mnt/named /mnt/own_shm /mnt/no_proc

# put EXPECTED NAME ENTER [RANKS]: EXPECTED is "shm (memfd)", "shm (file in /dev/shm)" or "ofi".
put() {
  local expected=$1 name=$2 ranks=${4:-2} out status p
  export ENTER=$3
  if ! sh -c "$ENTER true" 2>/mnt/why; then echo "not permitted here: $name: $(head -1 /mnt/why)"; return; fi
  out=$(timeout -k 5 30 "$bin/mpiexec" -n 2 /mnt/put "$bin/fgmpi-info" -v 2>&1 </dev/null)
  for p in 0 1; do
    grep -q "^transport  *$expected.*: to processes $((1 - p))\$" <<<"$out" || {
      echo "FAILED $name: process $p is not joined by $expected:"; grep "^transport\|^host\|problem" <<<"$out"; failed=1; }
  done
  out=$(timeout -k 5 60 "$bin/mpiexec" -n 2 -nfg $ranks /mnt/put "$programs/traffic" mix 10 2>&1 </dev/null)
  status=$?
  [ $status = 0 ] || { echo "FAILED $name: exit status $status"; head -5 <<<"$out"; failed=1; }
  echo "done $name: $expected"
}
memfd='shm (memfd)' file='shm (file in /dev/shm)'
put "$memfd" "nothing" "env"
put "$memfd" "a mount namespace" "unshare --mount"
put "$memfd" "a UTS namespace, same name" "unshare --uts"
put "$memfd" "System V and cgroup namespaces" "unshare --ipc --cgroup"
put "$memfd" "a /dev/shm of its own" "unshare --mount /mnt/own_shm"
put ofi "a UTS namespace, other name" "unshare --uts /mnt/named elsewhere"
put ofi "a network namespace, same name" "ip netns exec other"
put ofi "a network namespace, same name, same /sys" "nsenter --net=/run/netns/other"
put ofi "a network namespace, other name" "ip netns exec other unshare --uts /mnt/named elsewhere"
put ofi "a pid namespace" "unshare --pid --fork --kill-child"
put ofi "a pid namespace with a /proc" "unshare --pid --fork --kill-child --mount-proc"
put ofi "a user namespace" "unshare --user --map-root-user"
put ofi "another user" "setpriv --reuid 12345 --clear-groups"
put ofi "no capabilities" "setpriv --bounding-set -all --inh-caps -all"
put ofi "no /proc" "unshare --mount /mnt/no_proc" 1
put ofi "other words" "env FGMPI_HOST_ID=other"
export FGMPI_SHM_BACKING=shm
put "$file" "nothing, files" "env"
put "$file" "a mount namespace, files" "unshare --mount"
put ofi "a /dev/shm of its own, files" "unshare --mount /mnt/own_shm"
unset FGMPI_SHM_BACKING

# A job that as a whole is where /proc shows the processes of another pid namespace: files instead of memfds.
# A shell is the first process there: timeout of coreutils 9.10 refuses to be.
elsewhere=(unshare --pid --fork --kill-child sh -c '"$@"; exit $?' sh)
out=$(timeout -k 5 30 "${elsewhere[@]}" "$bin/mpiexec" -n 2 "$bin/fgmpi-info" -v 2>&1 </dev/null)
[ "$(grep -c "^transport  *$file: to processes" <<<"$out")" = 2 ] || {
  echo "FAILED another pid namespace's /proc:"; grep "^transport\|problem" <<<"$out"; failed=1; }
out=$(timeout -k 5 60 "${elsewhere[@]}" "$bin/mpiexec" -n 3 -nfg 2 "$programs/traffic" mix 10 2>&1 </dev/null)
status=$?
[ $status = 0 ] || { echo "FAILED another pid namespace's /proc: exit status $status"; head -5 <<<"$out"; failed=1; }
[ -z "$(ls /dev/shm)" ] || { echo "FAILED files are left in /dev/shm"; failed=1; }
exit $failed
