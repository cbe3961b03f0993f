# FGMPI_PACK_STACKS=auto, the default: 2 x 50,000 ranks that wait live in a control group whose memory they would exceed with their
# stacks as they are, which the job without packing shows: it is killed.
set -u
bin=$1 program=$2/short_memory
kMiB=600 kRanks=50000
[ "$(id -u)" = 0 ] || { echo "no control groups without root"; exit 0; }
"$program" probe || { echo "the kernel has no MADV_GUARD_INSTALL (Linux 6.13): no stack is packed"; exit 0; }
available=$(awk '/^MemAvailable:/ {print int($2 / 1024)}' /proc/meminfo)
[ "$available" -gt $((2 * kMiB)) ] || { echo "only $available MiB are available: others might be killed"; exit 0; }

# Version 1 of control groups: below the own one; version 2: on top, since a group with processes has none with limits below it.
if [ -d /sys/fs/cgroup/memory ]; then
  group=/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)/fgmpi-test-short-memory-$$
  limits="memory.limit_in_bytes=${kMiB}M memory.memsw.limit_in_bytes=${kMiB}M"
else
  group=/sys/fs/cgroup/fgmpi-test-short-memory-$$
  limits="memory.max=${kMiB}M memory.swap.max=0"
fi
remove_group() {
  for try in 1 2 3 4 5 6 7 8 9 10; do rmdir "$group" 2>/dev/null && return || sleep 0.2; done
  echo "$group cannot be removed"
}
mkdir "$group" 2>/dev/null || { echo "no control groups can be made here"; exit 0; }
trap remove_group EXIT
for limit in $limits; do
  echo "${limit#*=}" 2>/dev/null >"$group/${limit%%=*}" || case $limit in
    *sw*) ;; # this kernel does not count swapped memory
    *) echo "no limits of memory can be set here"; exit 0 ;;
  esac
done

out=$(mktemp)
job() { # job MODE
  bash -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$group" \
    env FGMPI_PACK_STACKS="$1" "$bin/mpiexec" -n 2 -nfg $kRanks "$program" </dev/null >"$out" 2>&1
}
failed=0
job off && { echo "FAILED: $kMiB MiB suffice without packing, so that this test shows nothing"; failed=1; }
for try in 1 2; do
  job auto && grep -q ' No Errors' "$out" && continue
  echo "FAILED: with packing, status $?"
  head -5 "$out"
  failed=1
done
rm -f "$out"
[ $failed = 0 ] && echo " No Errors"
exit $failed
