#!/usr/bin/env bash
# A disk that fails in the middle, a file system that is full, one without locks.
# Needs URING: parts of it are about io_uring.
# usage: faults.sh BIN PROGRAMS
set -u
bin=$1 programs=$2
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run() {  # NAME PROCESSES RANKS COMMAND...
  local name=$1
  shift
  out=$(timeout 60 "$bin/mpiexec" -n "$1" -nfg "$2" "${@:3}" 2>&1)
  if ! grep -q "No Errors" <<< "$out"; then
    echo "$name, $1 processes of $2 ranks: $out"
    failed=1
  fi
}
if cc -shared -fPIC -O1 "$(dirname "$0")/preload/faults.c" -o "$work/faults.so" -ldl; then
  for engine in threads direct; do
    for shape in "1 1" "1 4" "4 1" "2 3"; do
      # shellcheck disable=SC2086
      FGMPI_FILE_ENGINE=$engine FAULT=disk run "a failing disk, $engine" $shape env LD_PRELOAD="$work/faults.so" \
        "$programs/faults" disk "$work"
      # shellcheck disable=SC2086
      FGMPI_FILE_ENGINE=$engine FAULT=locks run "no locks, $engine" $shape env LD_PRELOAD="$work/faults.so" \
        "$programs/faults" locks "$work"
      [ "$shape" != "4 1" ] || grep -q "locks were refused" <<< "$out" || { echo "locks were not refused"; failed=1; }
    done
  done
fi
# The same behind io_uring, which ranks that share a process use.
if [ "$("$programs/engines" probe 2> /dev/null | grep -c 'io_uring is allowed')" = 1 ] &&
  cc -shared -fPIC -O1 "$(dirname "$0")/preload/uring.c" -o "$work/uring.so" -ldl 2> /dev/null; then
  for shape in "1 4" "2 3" "2 16"; do
    # shellcheck disable=SC2086
    FGMPI_FILE_ENGINE=uring run "a failing disk, io_uring" $shape \
      env LD_PRELOAD="$work/uring.so" "$programs/faults" disk "$work"
  done
else
  echo "no io_uring, or no liburing.h: a failing disk is not tested with it"
fi
if unshare --mount true 2> /dev/null; then
  cat > "$work/full.sh" <<'END'
mount -t tmpfs -o size=1m none "$1" && shift && exec "$@"
END
  mkdir "$work/small"
  for engine in uring threads direct; do
    for shape in "1 1" "1 4" "4 1" "2 3"; do
      read -r processes ranks <<< "$shape"
      out=$(FGMPI_FILE_ENGINE=$engine timeout 60 unshare --mount sh "$work/full.sh" "$work/small" "$bin/mpiexec" \
        -n "$processes" -nfg "$ranks" "$programs/faults" space "$work/small" 2>&1)
      grep -q "No Errors" <<< "$out" || { echo "a full file system, $engine, $shape: $out"; failed=1; }
    done
  done
else
  echo "no file system can be mounted here: a full one is not tested"
fi
exit $failed
