#!/bin/bash
# fgmpi-info -t prints all variables of the tools interface: this library's first, with their values, then the hosted
# MPICH's.   list.sh BIN PROGRAMS
set -u
bin=$1
fail() {
  echo "$1"
  exit 1
}
out=$(FGMPI_SYSTEM_RANKED_K=5 FGMPI_SCHED=random:9 "$bin/fgmpi-info" -t) || fail "exit status $?"
for line in '^  FGMPI_SYSTEM_RANKED_K +5$' '^  FGMPI_SCHED +random:9$' '^  FGMPI_SYSTEM_RANKED_FILLER +leaf$' \
  '^  MPIR_CVAR_[A-Z_]+ +' '^  frames +counter +frames sent' '^  comm_collectives +counter +of a communicator: ' \
  '^  fgmpi_send_begun +a point-to-point send ' \
  '^  unexpected_bytes_peak +highwatermark ' '^  fgmpi_counters +0 control, +[0-9]+ performance' '^  fgmpi_job +[0-9]+ control'; do
  grep -Eq "$line" <<< "$out" || fail "no line like '$line' in:
$out"
done
ours=$(grep -n '^  FGMPI_' <<< "$out" | tail -1 | cut -d: -f1)
hosts=$(grep -n '^  MPIR_CVAR_' <<< "$out" | head -1 | cut -d: -f1)
[ "$ours" -lt "$hosts" ] || fail "the host's variables come before ours"
said=$(sed -n 's/^Control variables: //p' <<< "$out")
printed=$(sed -n '/^Control variables/,/^Performance variables/p' <<< "$out" | grep -c '^  [A-Z]')
[ "$said" -eq "$printed" ] || fail "$said control variables, $printed lines"
echo " No Errors"
