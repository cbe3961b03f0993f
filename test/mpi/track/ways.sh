# Traces of sessions without a world, of a program linked with the tracker, with chunks that fill up, of a program with a
# PMPI layer, of many ranks.
. "$(dirname "$0")/begin.bash"

trace() {
  local name=$1
  shift
  timeout 100 "$bin/mpiexec" -track "$name" "$@" >out 2>&1 || fail "$name: status $?: $(head -5 out)"
  "$dump" --check --quiet "$name" || fail "$name: the job's own unification is another one"
}

# The tracker comes before the program's libraries, so it may not bring symbols of C++'s library or its own.
extra=$(nm -D --defined-only "$libraries/libfgmpi-track.so" | awk '{ print $3 }' | grep -vE '^(P?MPI_|MPIX_Comm_split$)')
[ -z "$extra" ] || fail "libfgmpi-track.so exports $(head -3 <<<"$extra")"

# Sessions have no common end at which ranks could unify their definitions, so the reader does.
export FGMPI_TRACK="files:raw"
trace sessions -n 2 -nfg 3 "$folder/sessions"
"$dump" sessions | grep -q '2 of several processes, 0 inter, 0 self-like.* 11 records, unified by this program' ||
  fail "sessions: $("$dump" sessions)"
"$dump" --comms sessions >comms
grep -q '^group 0 world size 6 members 0 1 2 3 4 5$' comms || fail "sessions: $(cat comms)"
grep -q '^group 1 size 5 members 5 4 3 2 1$' comms || fail "sessions: $(cat comms)"
[ "$("$dump" --events sessions | grep -c 'MPI_Session_finalize$')" = 6 ] || fail "sessions: not every rank's end"

# Linked instead of preloaded.
cat >linked.c <<'END'
#include <mpi.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 3000; ++i) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
END
"$bin/mpicc" linked.c -o linked.program -L"$libraries" -lfgmpi-track || fail "mpicc -lfgmpi-track"
FGMPI_TRACK_DIR=linked timeout 100 "$bin/mpiexec" -n 2 -nfg 2 ./linked.program >out 2>&1 || fail "linked: status $?: $(cat out)"
[ "$("$dump" --events linked | grep -c MPI_Barrier)" = 12000 ] || fail "linked: $("$dump" linked)"

# Chunks of 16 KiB are filled and left behind; that is an event of its own.
export FGMPI_TRACK="buffer:16k"
trace small -n 2 -nfg 2 ./linked.program
[ "$("$dump" --events small | grep -c MPI_Barrier)" = 12000 ] || fail "buffer:16k: records are missing"
[ "$("$dump" --events --rank 3 small | grep -c '(tracker) wrote')" -ge 8 ] || fail "buffer:16k: no chunk was filled"
if command -v otf2-print >/dev/null; then
  otf2-print small/traces.otf2 >otf2 2>errors || fail "otf2-print: status $?"
  [ -s errors ] && fail "otf2-print: $(head -3 errors)"
  grep -q '^BUFFER_FLUSH ' otf2 || fail "no BUFFER_FLUSH in traces.otf2"
fi

# A program with a PMPI layer of its own: its MPI_Send comes first, its PMPI_Send is MPI's.
cat >layer.c <<'END'
#include <mpi.h>
#include <stdio.h>
static int sends;
int MPI_Send(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  ++sends;
  return PMPI_Send(buffer, count, type, to, tag, comm);
}
int main(int argc, char** argv) {
  int rank, value = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 0) printf("%d send\n", sends);
  MPI_Finalize();
  return 0;
}
END
"$bin/mpicc" layer.c -o layer.program || fail "mpicc layer.c"
export FGMPI_TRACK="files:raw"
trace layer -n 1 -nfg 2 ./layer.program
grep -q '^1 send$' out || fail "layer: $(cat out)"
[ "$("$dump" --events layer | grep -c MPI_Send)" = 0 ] || fail "layer: a call of PMPI_Send by the program was taken for MPI_Send"
[ "$("$dump" --events layer | grep -c 'MPI_Recv comm 0 from 0')" = 1 ] || fail "layer: no MPI_Recv"

# The extension that splits has no profiling name.
cat >permute.c <<'END'
#include <fgmpi.h>
int main(int argc, char** argv) {
  int rank;
  MPI_Comm other;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPIX_Comm_split(MPI_COMM_WORLD, MPIX_PERMUTE, -rank, &other);
  MPI_Barrier(other);
  MPI_Comm_free(&other);
  MPI_Finalize();
  return 0;
}
END
"$bin/mpicc" permute.c -o permute.program || fail "mpicc permute.c"
trace permute -n 1 -nfg 4 ./permute.program
"$dump" --comms permute | grep -q '^group 1 size 4 members 3 2 1 0$' || fail "permute: $("$dump" --comms permute)"

# Many ranks in a process.
trace many -n 2 -nfg 5000 "$folder/pattern"
"$dump" many | grep -q '^job .*: 10000 ranks' || fail "many: $("$dump" many)"
echo ok
