# Array sections of all ranks and of several strides in calls of mpi_f08: section_shapes.py.
set -u
bin=$1 work=$2/section_shapes.dir
source=$(cd "$(dirname "$0")" && pwd)
fail() { echo "section_shapes.sh: $*" >&2; tail -40 out >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
python3 -B "$source/section_shapes.py" >section_shapes.f90 || fail "section_shapes.py"
"$bin/mpifort" -w -O1 -g -ffree-line-length-none section_shapes.f90 -o section_shapes >out 2>&1 || fail "mpifort"
for shape in 1x1 3x1 1x3 3x2; do
  timeout 100 "$bin/mpiexec" -n ${shape#*x} -nfg ${shape%x*} ./section_shapes >out 2>&1 || fail "$shape: status $?"
  grep -q "No Errors" out || fail "$shape"
done
echo " No Errors"
