#!/bin/bash
# fgmpi-info -calibrate: the file that it writes is read, and predicts for a ping-pong what its comments say.
#   calibrate.sh BIN FOLDER-OF-PROGRAMS PROGRAM
. "$(dirname "$0")/../explore/common.sh"
info() {  # info STATUS ARGUMENT...
  local expected=$1 status=0
  shift
  timeout 200 "$bin/fgmpi-info" "$@" > out 2>&1 </dev/null || status=$?
  [ $status = "$expected" ] || fail "fgmpi-info $*: status $status"
}
says() { grep -qF -- "$1" out || fail "no '$1'"; }

info 1 -calibrate -hosts
says "-hosts: nothing is behind it"
info 1 -calibrate -speed 3
says "-speed; allowed are -hosts FILE, -o FILE and -mpiexec OPTIONS"
info 1 -calibrate -hosts nowhere
says "-hosts nowhere: cannot be read"
printf '# hosts\na\nb:many\n' > hosts
info 1 -calibrate -hosts hosts
says "hosts, line 3: b:many: allowed is HOST or HOST:RANKS"
info 1 -calibrate -mpiexec "-no-such-option 1"
says "the measuring job ended with status"

info 0 -calibrate -o machine.json
[ ! -s out ] || fail "something is printed although -o is given"
"$bin/mpiexec" -predict machine.json -predict-compute=none -n 2 "$programs" 0 1024 65536 1048576 > out 2> err || { cat err; fail "the machine is not read"; }
# What a busy machine measures may not lie on lines: the unit tests compare exactly, with samples that do.
for bytes in 0 1024 65536 1048576; do
  predicted=$(awk -v b=$bytes '$1 == b { print $2 }' out)
  written=$(awk -v b=$bytes '$1 == "//" && $2 == b { print $4; exit }' machine.json)
  awk -v a="$predicted" -v b="$written" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(a > 0 && d <= 0.25 * b + 0.02) }' ||
    fail "$bytes bytes: predicted $predicted us, the file says $written us"
done
printf 'localhost:2\n' > hosts
info 0 -calibrate -hosts hosts -o there.json
grep -q '"name": "hosts"' there.json || fail "no name in there.json"
info 1 -calibrate -o /nowhere/machine.json
says "-o /nowhere/machine.json: cannot be written"
