# Where addresses are not random, the words that guard frames and pointers are those of all processes: guards.sh BIN FOLDER
set -u
bin=$1 programs=$2
[ "$(uname -m)" = x86_64 ] || exit 0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAILED: $*"
  cat "$scratch/out"
  exit 1
}
FGMPI_HEAP=rank timeout 60 setarch -R "$bin/mpiexec" -n 3 -nfg 2 "$programs/guards" >"$scratch/out" || fail "status $?"
[ "$(sort -u "$scratch/out" | wc -l)" = 1 ] || fail "processes have different guards"
[ "$(wc -l <"$scratch/out")" = 6 ] || fail "not six ranks"
FGMPI_HEAP=rank timeout 60 "$bin/mpiexec" -n 3 -nfg 2 "$programs/guards" >"$scratch/out" || fail "status $?"
[ "$(sort -u "$scratch/out" | wc -l)" = 3 ] || fail "guards are not random where addresses are"
exit 0
