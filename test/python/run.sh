# The package of packaging/python, with Debian's pytest or IPython. run.sh BIN WORK MODULE FILE: runs FILE by pytest where the
# Python of fgmpi-python has MODULE (pytest or IPython).
set -u
bin=$1 work=$2 module=$3 file=$4
sources=$(cd "$(dirname "$0")" && pwd)
if [ ! -x "$bin/fgmpi-python" ]; then
  echo "the interpreter's library is not installed"
  exit 0
fi
version=$("$bin/fgmpi-python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
for python in /usr/bin/python3 "$(command -v python3)" "$(command -v "python$version")" none; do
  [ -x "$python" ] && "$python" -c "import sys, pytest, $module; sys.exit('%d.%d' % sys.version_info[:2] != '$version')" 2>/dev/null && break
done
if [ "$python" = none ]; then
  echo "$module is not installed for Python $version"
  exit 0
fi
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
export PATH=$bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$sources/../../packaging/python/src
TMPDIR=$(mktemp -d) && export TMPDIR && trap 'rm -rf "$TMPDIR"' EXIT
"$python" -m pytest -p no:cacheprovider --rootdir "$sources" -c /dev/null -q -rs --basetemp "$work/tmp" "$sources/$file" "${@:5}"
