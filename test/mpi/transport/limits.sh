#!/usr/bin/env bash
# Jobs whose processes get less than they need: each ends within seconds, with a bad status and one line that says what
# is missing; or it goes well all the same.   limits.sh BIN PROGRAMS
# Needs LIBFABRIC: parts of it run over the network.
set -u
bin=$1 programs=$2 failed=0
unset FGMPI_TRANSPORT  # each line says which one it is about
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/with" <<'END'
#!/bin/sh
ulimit $1 "$2" || exit 99
shift 2
exec "$@"
END
chmod +x "$work/with"
. "$(dirname "$0")/shm_files.bash"

# try NAME ok|REGEX COMMAND...: three processes.
try() {
  local name=$1 expected=$2 out status
  shift 2
  SECONDS=0
  out=$(timeout -k 5 60 "$bin/mpiexec" -n 3 -nfg 2 "$@" 2>&1 </dev/null)
  status=$?
  if [ "$expected" = ok ]; then
    [ $status = 0 ] && [ -z "$out" ] || { echo "FAILED $name: exit status $status: $(head -3 <<<"$out")"; failed=1; }
  elif [ $status = 0 ] || [ $status = 124 ] || [ $status = 137 ] || [ "$(wc -l <<<"$out")" != 1 ] ||
    ! grep -qE -- "$expected" <<<"$out"; then
    echo "FAILED $name: exit status $status, expected one line of /$expected/: $(head -5 <<<"$out")"
    failed=1
  fi
  [ $SECONDS -le 15 ] || { echo "FAILED $name: took $SECONDS s"; failed=1; }
  [ -z "$(shm_files)" ] || { echo "FAILED $name: files are left in /dev/shm"; failed=1; }
  echo "done $name (${SECONDS} s)"
}
mix=("$programs/traffic" mix 5)
who='process id [0-9]+ on host [^ ]+'
try "32 descriptors are enough in shared memory" ok "$work/with" -n 32 "${mix[@]}"
# Not under the sanitizer, which needs descriptors to look at objects' types.
ldd "${mix[0]}" | grep -q libasan ||
  try "too few descriptors for shared memory" "$who cannot create shared memory .*: Too many open files" \
    "$work/with" -n 15 "${mix[@]}"
try "no memory may be locked" ok "$work/with" -l 0 "${mix[@]}"
try "no large files" "$who may make files of 1024000 bytes \(ulimit -f\), its shared memory needs" \
  "$work/with" -f 2000 "${mix[@]}"
# A soft limit alone is raised.
try "no large files unless asked for" ok sh -c 'ulimit -S -f 2000; exec "$0" "$@"' "${mix[@]}"
export FGMPI_TRANSPORT=ofi
if "$bin/mpiexec" -n 2 "${mix[@]}" >/dev/null 2>&1 </dev/null; then
  ldd "${mix[0]}" | grep -q libasan ||
    try "too few descriptors for the network" "Too many open files|Input/output error" "$work/with" -n 20 "${mix[@]}"
  FI_PROVIDER=nonesuch try "a provider that does not exist" "no provider .* on host .*FI_PROVIDER=nonesuch" "${mix[@]}"
  FGMPI_OFI_INTERFACE=nosuch0 try "an interface that does not exist" "FGMPI_OFI_INTERFACE=nosuch0: .* no such interface on host" \
    "${mix[@]}"
fi
FGMPI_TRANSPORT=nonesuch try "a transport that does not exist" "FGMPI_TRANSPORT=nonesuch: allowed is a list" "${mix[@]}"
exit $failed
