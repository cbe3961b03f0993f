# Lines come out whole, each once, and prefixed with the world rank where that is asked for.
set -u
bin=$1 programs=$2
fail() { echo "output.sh: $*" >&2; exit 1; }
for shape in "1 40" "2 15"; do
  set -- $shape
  ranks=$(($1 * $2))
  "$bin/mpiexec" -n "$1" -nfg "$2" "$programs/lines" >"$programs/lines.out" || fail "exit status $?"
  good=$(grep -cE '^<([0-9]+) stream stdio write \1>$' "$programs/lines.out")
  [ "$(wc -l <"$programs/lines.out")" = $((10 * ranks)) ] || fail "$shape: $(wc -l <"$programs/lines.out") lines"
  [ "$good" = $((10 * ranks)) ] || fail "$shape: $good whole lines of $((10 * ranks))"
  [ "$(sort -u "$programs/lines.out" | wc -l)" = $ranks ] || fail "$shape: not every rank's"
  FGMPI_PREPEND_RANK=1 "$bin/mpiexec" -n "$1" -nfg "$2" "$programs/lines" >"$programs/lines.out" || fail "exit status $?"
  good=$(grep -cE '^\[([0-9]+)\] <\1 stream stdio write \1>$' "$programs/lines.out")
  [ "$good" = $((10 * ranks)) ] || fail "$shape: $good prefixed lines of $((10 * ranks))"
done
echo " No Errors"
