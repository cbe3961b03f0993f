#!/usr/bin/env bash
# Names published at hydra's name server are found by jobs that share no folder of names; without a server a name is known
# where that folder is.
#   nameserver.sh BIN PROGRAMS
set -u
mpiexec=$1/mpiexec program=$2/named failed=0
[ -x "$program" ] || { echo "no program $program"; exit 1; }
command -v hydra_nameserver >/dev/null || { echo "ok: hydra_nameserver is not there"; exit 0; }
work=$(mktemp -d)
mkdir -m 700 "$work/one" "$work/other"
# Another program may have a port: the server ends at once then.
for ((try = 0; try < 20; ++try)); do
  port=$((20000 + ($$ + 997 * try) % 12000))  # below those that the kernel gives out
  hydra_nameserver -port "$port" >"$work/server" 2>&1 &
  server=$!
  sleep 0.3
  kill -0 $server 2>/dev/null && break
done
trap 'kill $server; rm -rf "$work"' EXIT

# run NAME OPTIONS FOLDER OPTIONS FOLDER: the second job looks up what the first has published, and they connect.
run() {
  timeout 60 env XDG_RUNTIME_DIR="$3" "$mpiexec" $2 -n 1 -nfg 2 "$program" publish "$1.$$" >"$work/a" 2>&1 &
  local a=$!
  timeout 60 env XDG_RUNTIME_DIR="$5" "$mpiexec" $4 -n 2 "$program" lookup "$1.$$" >"$work/b" 2>&1
  local second=$?
  if wait $a && [ $second = 0 ] && grep -q "No Errors" "$work/a" && grep -q "No Errors" "$work/b"; then
    echo "ok $1"
  else
    echo "FAILED $1: the second job ended with $second"
    head -10 "$work/server" "$work/a" "$work/b" | cut -c1-300
    failed=1
  fi
}
run server "-nameserver 127.0.0.1:$port" "$work/one" "-nameserver 127.0.0.1:$port" "$work/other"
run folder "" "$work/one" "" "$work/one"
exit $failed
