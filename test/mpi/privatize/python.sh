# fgmpi-python: an interpreter for each rank, with an extension module of test/python/ that calls MPI.
set -u
bin=$1 work=$2/python.dir
sources=$(cd "$(dirname "$0")/../../python" && pwd)
config=$(command -v python3-config "$(uname -m)-linux-gnu-python3-config" python3.11-config | head -n 1)
if [ ! -x "$bin/fgmpi-python" ] || [ -z "$config" ]; then
  echo "the interpreter's library is not installed"
  exit 0
fi
fail() { echo "python.sh: $*" >&2; tail -30 "$work/out" >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
touch out
"$bin/mpicc" -O1 -w -shared "$sources/exchange.c" $("$config" --includes) -o exchange.so || fail "mpicc"
export PYTHONPATH=$work PYTHONDONTWRITEBYTECODE=1
for shape in "1 1" "4 1" "1 4" "2 3" "2 50"; do
  read -r processes ranks <<<"$shape"
  timeout 200 "$bin/mpiexec" -n "$processes" -nfg "$ranks" "$bin/fgmpi-python" "$sources/interpreters.py" >out 2>&1 ||
    fail "$shape: status $?"
  [ "$(grep -cE "^rank [0-9]+ of $((processes * ranks)) is well" out)" = $((processes * ranks)) ] || fail "$shape: not all are well"
done
echo "2 x 50 interpreters: $(grep -oE '[0-9]+ KiB' out | sort -n | tail -1) in a process"
if "$bin/fgmpi-python" -c 'import numpy' >/dev/null 2>&1; then
  for shape in "1 1" "4 1" "1 4" "2 3" "2 20"; do
    read -r processes ranks <<<"$shape"
    timeout 200 "$bin/mpiexec" -n "$processes" -nfg "$ranks" "$bin/fgmpi-python" "$sources/arrays.py" >out 2>&1 ||
      fail "numpy, $shape: status $?"
    [ "$(grep -cE "^rank [0-9]+ of $((processes * ranks)) is well" out)" = $((processes * ranks)) ] ||
      fail "numpy, $shape: not all are well"
  done
  echo "2 x 20 interpreters with numpy: $(grep -oE '[0-9]+ KiB' out | sort -n | tail -1) in a process"
fi
timeout 100 "$bin/mpiexec" -n 2 -nfg 3 "$bin/fgmpi-python" "$sources/interpreters.py" 7 >out 2>&1
[ $? = 7 ] || fail "the exit status of a rank is lost"
timeout 100 "$bin/mpiexec" -n 1 -nfg 3 "$bin/fgmpi-python" -c 'import exchange; assert exchange.rank() != 1, "planned"' >out 2>&1
[ $? = 1 ] && grep -q '^AssertionError: planned' out || fail "an exception does not end its rank with status 1"
echo " No Errors"
