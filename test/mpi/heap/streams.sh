# A rank that ends with open streams has written them, and closes them: streams.sh BIN FOLDER
set -u
bin=$1 programs=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAILED: $*"
  exit 1
}
for shape in "1 200 FGMPI_HEAP=rank" "3 5 FGMPI_HEAP=rank" "3 5 FGMPI_HEAP=process"; do
  set -- $shape
  mkdir "$scratch/files"
  [ "$2" = 200 ] && limit=450 || limit=1000
  (ulimit -n $limit && env "$3" timeout 100 "$bin/mpiexec" -n "$1" -nfg "$2" "$programs/streams" "$scratch/files") || fail "$shape"
  rank=0
  while [ $rank -lt $(($1 * $2)) ]; do
    for file in $rank $rank-stream; do
      [ "$(cat "$scratch/files/$file")" = "rank $rank" ] || fail "$shape: $file has other words"
    done
    rank=$((rank + 1))
  done
  rm -r "$scratch/files"
done
exit 0
