# For test scripts that are sourced with this: hosts made of network namespaces, joined by a bridge, in a sandbox of their
# own that is gone with the script.
#   . namespaces.sh; enter_namespaces PROGRAM "$0" "$@"; make_hosts N

# Goes on in the sandbox, or ends the script with the reason why there can be none. PROGRAM is one of the tests'.
enter_namespaces() {
  local program=$1 why
  shift
  [ -z "${FGMPI_HOSTS_INSIDE:-}" ] || return 0
  why=$(unshare --net --mount --pid --fork --mount-proc sh -c 'mkdir -p /run/netns && mount -t tmpfs none /run/netns &&
    ip link set lo up && ip netns add other && ip link add b0 type bridge' 2>&1) || {
    echo "skipped: no namespaces can be made here: $why"; exit 0; }
  if ldd "$program" | grep -q libasan; then echo "skipped: the sanitizer's processes need rights of their own"; exit 0; fi
  FGMPI_HOSTS_INSIDE=1 exec unshare --net --mount --pid --fork --mount-proc --kill-child bash "$@"
}

# host0 to host(N-1), 10.79.0.1 to 10.79.0.N. `/mnt/on K COMMAND...` is run on host K; `/mnt/put COMMAND...` on the host
# PMI_RANK modulo N.
make_hosts() {
  local host place
  for place in /mnt /run/netns; do mount -t tmpfs none $place; done  # gone with the sandbox
  ip link set lo up
  ip link add b0 type bridge
  ip link set b0 up
  for ((host = 0; host < $1; ++host)); do
    ip netns add host$host
    ip link add v$host type veth peer name e$host netns host$host
    ip link set v$host master b0 up
    ip -n host$host address add 10.79.0.$((host + 1))/24 dev e$host
    ip -n host$host link set e$host up
    ip -n host$host link set lo up
  done
  printf '#!/bin/sh\nhostname "$1"; shift; exec "$@"\n' >/mnt/named
  printf '#!/bin/sh\nhost=host$1; shift; exec ip netns exec $host unshare --uts /mnt/named $host "$@"\n' >/mnt/on
  printf '#!/bin/sh\nexec /mnt/on $((PMI_RANK %% %d)) "$@"\n' "$1" >/mnt/put
  chmod +x /mnt/named /mnt/on /mnt/put
}
