# Start of the scripts of this folder, which source it: they run in a folder of their own that is removed when they end.
# Sets bin and folder (their arguments), sources (this folder), libraries (where ours are), library (the tracker), dump (its
# reader) and fail.
set -u
bin=$1
folder=${2:-}
sources=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
libraries=$(cd "$bin/../lib" && pwd)
library=$libraries/libfgmpi-track.so
dump=$bin/fgmpi-track-dump
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

fail() {
  echo "FAILED: $*"
  exit 1
}
