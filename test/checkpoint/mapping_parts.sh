#!/bin/bash
# Parts of mappings of files go on as they were, and pages of files that were only read are not saved.
#   mapping_parts.sh BIN_FOLDER WORK_FOLDER PROCESSES RANKS_EACH PROGRAM
set -u
work=$2
bash "$(cd "$(dirname "$0")" && pwd)/restarts.sh" "$@" || exit 1
cd "$work" || exit 1
[ "$(stat -c %s large.0)" -eq $((8 << 20)) ] || { echo "mapping_parts.sh: large.0 is not large"; exit 1; }
larger=$(find saved -size +7M)
[ -z "$larger" ] || { echo "mapping_parts.sh: larger than 7 MB: $larger"; exit 1; }
