#!/usr/bin/env bash
# Latency and bandwidth between two hosts (network namespaces), beside the host's MPICH over the same wire.
#   benchmarks/micro/multihost_pair.sh [PAIRS [BUILD]]        3 pairs, build/default
# A pair is a run of each, one after the other; MPICH runs with each line of SETTINGS and its best counts. What is told
# a size is the median over the pairs of ours, MPICH's, and the ratio inside a pair (above 1: ours is better).
# The kernel's state of a connection (when it acknowledges, how it paces) differs from run to run and makes 4 KiB take 7 or
# 13 us with either library: take many pairs. PAIR_REALTIME=1: on a machine with other work (micro/pt2pt_pair.c).
# Needs what scripts/test-multihost needs, mpicc.mpich and mpiexec.hydra. UCX_TLS=tcp keeps MPICH from shared memory,
# which namespaces of one machine have in common.
set -eu
root=$(cd "$(dirname -- "$0")/../.." && pwd)
pairs=${1:-3}
build=$(cd "${2:-$root/build/default}" && pwd)
settings=${SETTINGS:-"UCX_TLS=tcp
UCX_TLS=tcp UCX_TCP_TX_SEG_SIZE=64k UCX_TCP_RX_SEG_SIZE=64k"}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mpicc.mpich -O2 -w "$root/benchmarks/micro/pt2pt_pair.c" -o "$work/pair"
hosts() { "$root/scripts/test-multihost" --build "$build" --hosts 2 --processes 1 --ranks 1 "$@" table; }
for ((pair = 1; pair <= pairs; pair++)); do
  hosts -- "$build/benchmarks/pt2pt_pair" | sed "s/^/ours $pair /"
  while IFS= read -r line; do
    # shellcheck disable=SC2086
    (export $line; hosts --mpiexec mpiexec.hydra -- "$work/pair") | sed "s/^/mpich $pair /"
  done <<<"$settings"
done >"$work/lines"
# Lines: WHO PAIR BYTES MICROSECONDS MB/S
awk '
  function median(list, n,   i, j, t) {
    for (i = 2; i <= n; i++)
      for (j = i; j > 1 && list[j - 1] > list[j]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
    return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
  }
  {
    key = $1 SUBSEP $2 SUBSEP $3
    if (!(key in us) || $4 < us[key]) us[key] = $4
    if (!(key in mb) || $5 > mb[key]) mb[key] = $5
    if (!($3 in seen)) { seen[$3] = 1; size[++sizes] = $3 }
    if ($2 > pairs) pairs = $2
  }
  END {
    print "| bytes | half round trip, us | MPICH | ratio | MB/s, windows of 64 | MPICH | ratio |"
    print "| --- | --- | --- | --- | --- | --- | --- |"
    for (s = 1; s <= sizes; s++) {
      n = 0
      for (p = 1; p <= pairs; p++) {
        a = "ours" SUBSEP p SUBSEP size[s]; b = "mpich" SUBSEP p SUBSEP size[s]
        if (!(a in us) || !(b in us)) continue
        ++n
        u1[n] = us[a]; u2[n] = us[b]; u3[n] = us[b] / us[a]; m1[n] = mb[a]; m2[n] = mb[b]; m3[n] = mb[a] / mb[b]
      }
      if (!n) { print "no pair of " size[s] " bytes came to its end"; status = 1; continue }
      printf "| %d | %.1f | %.1f | %.2f | %.1f | %.1f | %.2f |\n", size[s], median(u1, n), median(u2, n), median(u3, n), median(m1, n), median(m2, n), median(m3, n)
    }
    if (!sizes) { print "multihost_pair: no figures"; status = 1 }
    exit status
  }' "$work/lines"
