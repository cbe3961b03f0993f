#!/usr/bin/env bash
# Memory runs out: calls return errors, and jobs go on. Not run under the address sanitizer, which needs an unlimited
# address space.
# Needs LIBFABRIC: parts of it run over the network.
set -u
bin=$1 prog=$2/no_memory failed=0
if [ -n "${LSAN_OPTIONS:-}" ]; then
  echo "nothing to do under the address sanitizer"
  exit 0
fi

expect_good() {
  local name=$1 out got
  shift
  out=$(timeout 100 "$@" 2>&1)
  got=$?
  if [ $got -ne 0 ] || ! grep -q "No Errors" <<<"$out"; then
    echo "FAILED $name: exit status $got"
    tail -5 <<<"$out"
    failed=$((failed + 1))
  else
    echo "ok $name"
  fi
}

# Pairs of ranks in one process, and members of one process that meet. With a switch at each call a barrier is done before
# the next one begins, and none is refused.
if ! "$bin/fgmpi-info" | grep -q 'forced switches'; then
  expect_good "helpers" "$bin/mpiexec" -n 1 -nfg 2 "$prog" barriers
  expect_good "helpers, two processes" "$bin/mpiexec" -n 2 -nfg 2 "$prog" barriers
fi
expect_good "pieces" "$bin/mpiexec" -n 2 -nfg 1 "$prog" pieces
expect_good "pieces, more ranks" "$bin/mpiexec" -n 2 -nfg 3 "$prog" pieces
FGMPI_TRANSPORT=ofi expect_good "pieces, over a network" "$bin/mpiexec" -n 2 -nfg 1 "$prog" pieces
expect_good "columns" "$bin/mpiexec" -n 2 -nfg 1 "$prog" columns
expect_good "columns, one process" "$bin/mpiexec" -n 1 -nfg 2 "$prog" columns
expect_good "columns, more ranks" "$bin/mpiexec" -n 2 -nfg 2 "$prog" columns
exit $((failed > 0))
