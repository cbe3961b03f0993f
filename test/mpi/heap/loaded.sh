# Libraries that ranks load while they run lie in their slots: loaded.sh BIN FOLDER
set -u
bin=$1 programs=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAILED: $*"
  tail -20 "$scratch/out"
  exit 1
}
cd "$scratch" || exit 1
touch out
cat >plugin.c <<'END'
#include <stdlib.h>
#include <string.h>
int plugin_variable = 5, *plugin_pointer = &plugin_variable;
const int plugin_constant = 40;
char plugin_space[4 << 20];
int plugin_code(int x) { return *plugin_pointer == plugin_variable ? plugin_constant + x : -1; }
char* plugin_allocate(size_t bytes) { return memset(malloc(bytes), 1, bytes); }
END
cc -shared -fPIC -O1 plugin.c -o plugin.so && cc -shared -fPIC -O1 -Wl,-z,max-page-size=0x200000 plugin.c -o aligned.so || fail "cc"
for shape in "1 1" "4 1" "1 4" "2 3" "2 64"; do
  for schedule in fifo random:7; do
    FGMPI_SCHED=$schedule FGMPI_HEAP=rank timeout 100 "$bin/mpiexec" -n ${shape% *} -nfg ${shape#* } "$programs/loaded" ./plugin.so ./aligned.so >out 2>&1 || fail "$shape $schedule: status $?"
  done
done
for layout in protected joined copied; do
  FGMPI_IMAGE_MAPPINGS=$layout FGMPI_HEAP=rank timeout 100 "$bin/mpiexec" -n 2 -nfg 3 "$programs/loaded" ./plugin.so ./aligned.so >out 2>&1 || fail "$layout: status $?"
done
for ranks in 2 20; do
  FGMPI_HEAP=rank timeout 100 "$bin/mpiexec" -n 1 -nfg $ranks "$programs/loaded" ./plugin.so ends >out 2>&1 || fail "$ranks that end: status $?"
done
echo " No Errors"
