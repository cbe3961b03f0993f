#!/usr/bin/env bash
# FGMPI_SCHED=random:SEED: a seed gives the same order of matching each time, and seeds differ.
set -u
bin=$1 prog=$2/random_order orders=""
order() { FGMPI_SCHED=random:$1 timeout 60 "$bin/mpiexec" -n 1 -nfg 8 "$prog"; }
for seed in 1 2 3 4 5; do
  first=$(order $seed) && second=$(order $seed) || { echo "FAILED: seed $seed does not run"; exit 1; }
  [ "$(wc -w <<<"$first")" = 42 ] || { echo "FAILED: seed $seed: not 42 messages: $first"; exit 1; }
  [ "$first" = "$second" ] || { echo "FAILED: seed $seed: '$first', then '$second'"; exit 1; }
  orders+="$first"$'\n'
done
different=$(printf %s "$orders" | sort -u | wc -l)
[ "$different" -ge 2 ] || { echo "FAILED: the five seeds give one order"; exit 1; }
echo "ok: 5 seeds twice each, $different orders"
