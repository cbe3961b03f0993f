#!/usr/bin/env bash
# Latency and bandwidth between two hosts (network namespaces), beside the host's MPICH over the same wire.
#   benchmarks/micro/multihost_pair.sh [PAIRS [BUILD]]        3 pairs, build/default
# A pair is a run of each, one after the other; MPICH runs once with each line of SETTINGS. What is told a size is the
# median over the pairs of ours, of MPICH's with the setting whose median is best, and of the ratio inside a pair to
# that one (above 1: ours is better).
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
  setting=0
  while IFS= read -r line; do
    ((++setting))
    # shellcheck disable=SC2086
    (export $line; hosts --mpiexec mpiexec.hydra -- "$work/pair") | sed "s/^/mpich$setting $pair /"
  done <<<"$settings"
done >"$work/lines"
# Lines: WHO PAIR BYTES MICROSECONDS MB/S, where WHO is ours, mpich1, mpich2...
awk -v settings="$(grep -c . <<<"$settings")" '
  function median(list, n,   i, j, t) {
    for (i = 2; i <= n; i++)
      for (j = i; j > 1 && list[j - 1] > list[j]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
    return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
  }
  # Sets `mine`, `theirs`, `ratio`: medians over the pairs that have both, with the setting that is best; more: better.
  function compare(value, bytes, more,   s, p, n, a, b, x, y, r, m) {
    mine = 0
    for (s = 1; s <= settings; s++) {
      n = 0
      for (p = 1; p <= pairs; p++) {
        a = "ours" SUBSEP p SUBSEP bytes; b = "mpich" s SUBSEP p SUBSEP bytes
        if (!(a in value) || !(b in value)) continue
        x[++n] = value[a]; y[n] = value[b]
        r[n] = more ? value[a] / value[b] : value[b] / value[a]
      }
      if (!n) continue
      m = median(y, n)
      if (mine && (more ? m <= theirs : m >= theirs)) continue
      theirs = m; mine = median(x, n); ratio = median(r, n)
    }
    return mine > 0
  }
  {
    us[$1, $2, $3] = $4
    mb[$1, $2, $3] = $5
    if (!($3 in seen)) { seen[$3] = 1; size[++sizes] = $3 }
    if ($2 > pairs) pairs = $2
  }
  END {
    print "| bytes | half round trip, us | MPICH | ratio | MB/s, windows of 64 | MPICH | ratio |"
    print "| --- | --- | --- | --- | --- | --- | --- |"
    for (i = 1; i <= sizes; i++) {
      if (!compare(us, size[i], 0)) { print "no pair of " size[i] " bytes came to its end"; status = 1; continue }
      printf "| %d | %.1f | %.1f | %.2f |", size[i], mine, theirs, ratio
      compare(mb, size[i], 1)
      printf " %.1f | %.1f | %.2f |\n", mine, theirs, ratio
    }
    if (!sizes) { print "multihost_pair: no figures"; status = 1 }
    exit status
  }' "$work/lines"
