#!/usr/bin/env bash
# Jobs that end in order, five hundred times; FGMPI_TEST_JOBS=10000 for the long form.
# Needs LIBFABRIC: parts of it run over the network.
exec python3 "$(dirname "$0")/ends_in_order.py" "$1" "$2" "${FGMPI_TEST_JOBS:-500}"
