# The world rank of a rank decides where its memory is, whatever process hosts it: places.sh BIN FOLDER
set -u
bin=$1 programs=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAILED: $*"
  cat "$scratch/"*
  exit 1
}
# places NAME ARGUMENT...: where the ranks' memory is in such a job.
places() {
  name=$1
  shift
  FGMPI_HEAP=rank timeout 60 "$bin/mpiexec" "$@" >"$scratch/out" 2>"$scratch/err" || fail "$*: status $?"
  sort "$scratch/out" >"$scratch/$name"
  [ "$(sort -u "$scratch/out" | wc -l)" = 6 ] || fail "$*: not six ranks"
}
program=$programs/places
places one -n 1 -nfg 6 "$program"
for arguments in "-n 6 -nfg 1 $program" "-n 2 -nfg 3 $program" "-n 3 -ranks 6 $program" "-n 4 -ranks 6 $program" \
  "-n 1 -nfg 4 $program : -n 1 -nfg 2 $program" "-n 2 -nfg 1 $program : -n 1 -ranks 4 $program" \
  "-n 1 -nfg 1 $program : -n 2 -ranks 5 $program"; do
  places other $arguments
  cmp -s "$scratch/one" "$scratch/other" || fail "$arguments: other places"
done

# Slots that follow from other numbers than those of the job are refused.
FGMPI_HEAP=rank timeout 60 "$bin/mpiexec" -n 1 -env FGMPI_NFG 2 "$program" : -n 1 -env FGMPI_NFG 4 "$program" \
  >"$scratch/out" 2>"$scratch/err" && fail "other numbers of ranks are not refused"
grep -q "FGMPI_HEAP=rank: this process has the ranks" "$scratch/err" || fail "other numbers of ranks: other words"

# A stack that has no room in its slot is refused; one that has is as large as asked for.
FGMPI_STACK_SIZE=1g FGMPI_HEAP=rank timeout 60 "$bin/mpiexec" -n 1 -nfg 6 "$program" >"$scratch/out" 2>"$scratch/err" ||
  fail "a stack of 1 GiB"
FGMPI_STACK_SIZE=1g FGMPI_HEAP=rank timeout 60 "$bin/mpiexec" -n 1 -nfg 20000 "$program" >"$scratch/out" 2>"$scratch/err" &&
  fail "20,000 stacks of 1 GiB"
grep -q "FGMPI_STACK_SIZE: 1048576 KiB do not fit" "$scratch/err" || fail "20,000 stacks of 1 GiB: other words"

# All layouts of images.
for layout in protected joined copied; do
  FGMPI_IMAGE_MAPPINGS=$layout FGMPI_HEAP=rank timeout 60 "$bin/mpiexec" -n 2 -nfg 3 "$program" \
    >"$scratch/out" 2>"$scratch/err" || fail "$layout: status $?"
  sort "$scratch/out" | cmp -s "$scratch/one" - || fail "$layout: other places"
done
exit 0
