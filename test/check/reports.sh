# Tests what users see of mpiexec -check: the report, its forms for machines, the choice of kinds, refusals, and the exit status.
. "$(dirname "$0")/common.sh" "$1"
corpus=$2
cat >leak.c <<'END'
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  MPI_Comm dup;
  MPI_Init(&argc, &argv);
  if (argc > 1) MPI_Comm_dup(MPI_COMM_WORLD, &dup); /* line 6 */
  MPI_Finalize();
  return argc > 2 ? 3 : 0;
}
END
"$bin/mpicc" -g leak.c -o leak || fail "mpicc"
for shape in "1 6" "2 3" "6 1"; do
  # shellcheck disable=SC2086
  set -- $shape
  status 86 -check -check-report r.json -check-report r.sarif -check-report r.html -n "$1" -nfg "$2" ./leak yes
  grep -q 'leaks: a communicator is never freed' out && grep -qE 'of rank [0-5] and 5 others' out &&
    grep -qE 'at .*leak\.c:6 \(main\)' out && grep -q '^fgmpi: check: 1 finding$' out || fail "text at $shape"
  python3 - <<'END' || fail "reports for machines at $shape"
import json
finding = json.load(open("r.json"))["findings"][0]
assert finding["kind"] == "leaks" and finding["ranks"] == [0, 1, 2, 3, 4, 5] and finding["calls"][0]["line"] == 6
result = json.load(open("r.sarif"))["runs"][0]["results"][0]
assert result["ruleId"] == "leaks"
assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 6
assert "<h2>leaks: a communicator is never freed" in open("r.html").read()
END
  status 0 -check -n "$1" -nfg "$2" ./leak
  [ -s out ] && fail "a correct program has a report"
  status 0 -check=types,messages -n "$1" -nfg "$2" ./leak yes
  status 86 -check=leaks -n "$1" -nfg "$2" ./leak yes
done
FGMPI_CHECK=on status 86 -n 1 -nfg 2 ./leak yes
FGMPI_CHECK=off status 0 -n 1 -nfg 2 ./leak yes
status 0 -n 1 -nfg 2 ./leak yes
status 86 -check -n 1 -nfg 2 ./leak yes fails
"$bin/mpiexec" -check -n 1 -nfg 2 ./leak 2>out || fail "status of a correct program"
status 1 -check=nonsense -n 1 ./leak
grep -q '"nonsense" is no kind of finding' out || fail "a wrong kind"
# The help names every kind of the reports for machines, and mpiexec accepts each of these words.
kinds=$("$bin/mpiexec" -help | sed -n '/^  -check=KIND/,/^  -check-report/p' | sed '$d; s/.*only these: //' | tr -d ' \n')
rules=$(python3 -c 'import json; print(",".join(r["id"] for r in json.load(open("r.sarif"))["runs"][0]["tool"]["driver"]["rules"]))')
[ -n "$kinds" ] && [ "$kinds" = "$rules" ] || fail "the help has the kinds $kinds, reports have $rules"
status 86 "-check=$kinds" -n 1 -nfg 2 ./leak yes
status 1 -check-report r.txt -n 1 ./leak
grep -q 'ends in .json, .sarif or .html' out || fail "a wrong report"
status 1 -check -track t -n 1 ./leak
# No files are left behind.
TMPDIR=$scratch status 86 -check -n 2 ./leak yes
ls -d "$scratch"/fgmpi-check-* >out 2>/dev/null && fail "folders are left"
# A job that ends in a deadlock still has its report.
number=$(awk -F'\t' '$3 == "deadlock" && $4 == "two receives first" { print $1 }' "$corpus/corpus.txt")
status 86 -check -n 2 -nfg 2 "$corpus/corpus_deadlock" "$number" wrong
grep -q 'cycle: rank 0 waits for' out && grep -q 'check: deadlock: ' out || fail "deadlock"
# Ends of ranks that are no errors of MPI's calls, and words about them: each program is wrong at the line marked HERE.
# ends NAME SENTENCE MORE: the program NAME.c, read from the input, has the finding with its line, and MORE somewhere.
ends() {
  cat >"$1.c"
  "$bin/mpicc" -g -w "$1.c" -o "$1" || fail "mpicc $1.c"
  for shape in "1 2" "2 1"; do
    # shellcheck disable=SC2086
    set -- "$1" "$2" "$3" $shape
    status 86 -check -n "$4" -nfg "$5" "./$1"
    grep -q "$2" out && grep -q "$1.c:$(grep -n HERE "$1.c" | cut -d: -f1) " out && grep -q "$3" out &&
      grep -q '^fgmpi: check: 1 finding$' out || fail "$1 at $shape"
  done
}
ends forgets 'leaks: a rank ends without MPI_Finalize' 'of rank . and 1 other' <<'END'
#include <mpi.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv); /* HERE */
  return 0;
}
END
ends early 'arguments: MPI is called before MPI_Init' 'MPI_Barrier' <<'END'
#include <mpi.h>
int main(int argc, char** argv) {
  MPI_Barrier(MPI_COMM_WORLD); /* HERE */
  return 0;
}
END
ends late 'arguments: MPI is called after MPI_Finalize' 'MPI_Comm_size of rank' <<'END'
#include <mpi.h>
int main(int argc, char** argv) {
  int n;
  MPI_Init(&argc, &argv);
  MPI_Finalize();
  MPI_Comm_size(MPI_COMM_WORLD, &n); /* HERE */
  return 0;
}
END
ends crash 'arguments: a buffer reaches into memory that is not there' 'MPI_Send.* of rank 0 is given the buffer' <<'END'
#include <mpi.h>
int main(int argc, char** argv) {
  int rank, x[4];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) MPI_Send((void*)16, 4, MPI_INT, 1, 0, MPI_COMM_WORLD); /* HERE */
  else MPI_Recv(x, 4, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
END
ends stack 'arguments: a buffer reaches into memory that is not there' 'MPI_Send.* of rank 0 is given the buffer' <<'END'
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  int rank, b[10] = {0}, *c = malloc(4000000);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) MPI_Send(b, 1000000, MPI_INT, 1, 0, MPI_COMM_WORLD); /* HERE */
  else MPI_Recv(c, 1000000, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
END
grep -q 'stack overflow' out && fail "a buffer is called a stack overflow"
ends tag 'deadlock: ranks wait for ever' 'sends a message with another tag, 7' <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, v = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) MPI_Send(&v, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
  fprintf(stderr, "no end of line");
  if (rank == 1) MPI_Recv(&v, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* HERE */
  MPI_Finalize();
  return 0;
}
END
grep -q '^fgmpi: check: deadlock' out || fail "the report begins in the middle of a line"
# The sends in this ring return only if they are buffered.
cat >ring.c <<'END'
#include <mpi.h>
int main(int argc, char** argv) {
  int rank, size, a = 1, b;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Send(&a, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD); /* line 7 */
  MPI_Recv(&b, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return MPI_Finalize();
}
END
"$bin/mpicc" -g ring.c -o ring || fail "mpicc ring.c"
for shape in "1 4" "2 2" "4 1"; do
  # shellcheck disable=SC2086
  set -- $shape
  status 86 -check -n "$1" -nfg "$2" ./ring
  grep -q 'check: buffering: the program depends on buffering' out && grep -q 'ring.c:7' out || fail "depends on buffering at $shape"
  status 0 -check=deadlock -n "$1" -nfg "$2" ./ring
  status 86 -check -n "$1" -nfg "$2" -genv FGMPI_SEND_BUFFERING zero ./ring
  grep -q 'check: buffering: ranks wait for ever' out && grep -q 'ring.c:7' out || fail "buffering at $shape"
done
# Ranks exchange with neighbours in other processes until the checker has written their steps down several times.
cat >halo.c <<'END'
#include <mpi.h>
int main(int argc, char** argv) {
  int rank, size, a = 1, b[2];
  MPI_Request r[4];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 300; ++i) {
    MPI_Irecv(&b[0], 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(&b[1], 1, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD, &r[1]);
    MPI_Isend(&a, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &r[2]);
    MPI_Isend(&a, 1, MPI_INT, (rank + size - 1) % size, 1, MPI_COMM_WORLD, &r[3]);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
  }
  return MPI_Finalize();
}
END
"$bin/mpicc" -g -w halo.c -o halo || fail "mpicc halo.c"
for shape in "1 6" "2 5" "6 1"; do
  # shellcheck disable=SC2086
  set -- $shape
  status 0 -check -n "$1" -nfg "$2" ./halo
  [ -s out ] && fail "neighbours at $shape"
done
# The compiler makes several calls of one line, by unrolling a loop and by inlining: they give one finding with all ranks.
cat >unrolled.c <<'END'
#include <mpi.h>
static inline __attribute__((always_inline)) void make(MPI_Comm* to) {
  MPI_Comm_dup(MPI_COMM_WORLD, to); /* line 3 */
}
int main(int argc, char** argv) {
  MPI_Comm dups[5];
  MPI_Init(&argc, &argv);
#pragma GCC unroll 3
  for (int i = 0; i < 3; ++i) make(&dups[i]);
  make(&dups[3]);
  int rank;
  MPI_Comm_rank(dups[3], &rank);
  if (rank == 0) make(&dups[4]); else make(&dups[4]);
  return MPI_Finalize();
}
END
"$bin/mpicc" -g -O2 unrolled.c -o unrolled || fail "mpicc unrolled.c"
calls=$(objdump -d --no-show-raw-insn unrolled | grep -c 'call.*<MPI_Comm_dup')
[ "$calls" -ge 4 ] || fail "the compiler makes $calls calls of MPI_Comm_dup: at least 4 are needed"
for shape in "1 4" "2 2"; do
  # shellcheck disable=SC2086
  set -- $shape
  status 86 -check -check-report r.json -n "$1" -nfg "$2" ./unrolled
  grep -q 'of rank [0-3] and 3 others' out && grep -q '^fgmpi: check: 1 finding$' out || fail "calls of one line at $shape"
  grep -q '"ranks": \[0, 1, 2, 3\]' r.json || fail "ranks of calls of one line at $shape"
done
# An error handler leaves a call by an exception: the call has ended all the same, its request is complete and its message was
# received.
cat >thrown.cc <<'END'
#include <mpi.h>
struct Failed {};
static void fails(MPI_Comm*, int*, ...) { throw Failed(); }
static int query(void*, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  return MPI_ERR_OTHER;
}
static int nothing(void*) { return MPI_SUCCESS; }
static int no_cancel(void*, int) { return MPI_SUCCESS; }
static int thrown = 0;
template <class F>
static void leave(F call) {
  try {
    call();
  } catch (const Failed&) {
    ++thrown;
  }
}
int main(int argc, char** argv) {
  const int count = argc > 1 ? 4 : 2;  // of what is received; four are sent
  int rank, size, a[4] = {}, b[4];
  MPI_Errhandler handler;
  MPI_Request r, both[2];
  MPI_Comm w;
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &w);
  MPI_Comm_rank(w, &rank);
  MPI_Comm_size(w, &size);
  MPI_Comm_create_errhandler(fails, &handler);
  MPI_Comm_set_errhandler(w, handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  for (int i = 0; i < 8; ++i) {
    MPI_Irecv(b, count, MPI_INT, before, 0, w, &r);
    MPI_Send(a, 4, MPI_INT, next, 0, w);
    leave([&] { MPI_Wait(&r, MPI_STATUS_IGNORE); });
    MPI_Irecv(b, count, MPI_INT, before, 0, w, &both[0]);
    MPI_Isend(a, 4, MPI_INT, next, 0, w, &both[1]);
    leave([&] { MPI_Waitall(2, both, MPI_STATUSES_IGNORE); });
    leave([&] { MPI_Sendrecv(a, 4, MPI_INT, next, 1, b, count, MPI_INT, before, 1, w, MPI_STATUS_IGNORE); });
    MPI_Isend(a, 4, MPI_INT, next, 2, w, &r);
    leave([&] { MPI_Recv(b, count, MPI_INT, before, 2, w, MPI_STATUS_IGNORE); });
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Grequest_start(query, nothing, no_cancel, nullptr, &r);
    MPI_Grequest_complete(r);
    leave([&] { MPI_Wait(&r, MPI_STATUS_IGNORE); });
  }
  MPI_Errhandler_free(&handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_free(&w);
  MPI_Finalize();
  return thrown == (count == 2 ? 40 : 8) ? 0 : 1;
}
END
"$bin/mpicxx" -g thrown.cc -o thrown || fail "mpicxx thrown.cc"
for shape in "1 4" "2 2" "4 1"; do
  # shellcheck disable=SC2086
  set -- $shape
  status 0 -n "$1" -nfg "$2" ./thrown
  status 0 -check -n "$1" -nfg "$2" ./thrown fits
  [ -s out ] && fail "exceptions at $shape"
  status 0 -check=leaks,messages,buffering -n "$1" -nfg "$2" ./thrown
  [ -s out ] && fail "exceptions of messages that are too long at $shape"
done
# A disagreement between members of a communicator is reported once, also where it ends the job.
cat >differ.c <<'END'
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  const int how = atoi(argv[1]);
  int rank, size, a[8] = {0}, b[8];
  MPI_Request q = MPI_REQUEST_NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int last = rank == size - 1;
  if (how == 0) MPI_Allreduce(a, b, 1, MPI_INT, last ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
  if (how == 1) MPI_Reduce(a, b, 1, MPI_INT, last ? MPI_MAX : MPI_SUM, 0, MPI_COMM_WORLD);
  if (how == 2) MPI_Bcast(a, 1, MPI_INT, last, MPI_COMM_WORLD);
  if (how == 3) MPI_Bcast(a, last ? 2 : 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (how == 4) MPI_Iallreduce(a, b, 1, MPI_INT, last ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD, &q);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  return MPI_Finalize();
}
END
"$bin/mpicc" -g -w differ.c -o differ || fail "mpicc differ.c"
for shape in "1 4" "2 2" "4 1"; do
  for how in 0 1 2 3 4; do
    # shellcheck disable=SC2086
    set -- $shape
    status 86 -check=collectives,arguments -n "$1" -nfg "$2" ./differ $how
    grep -q '^fgmpi: check: 1 finding$' out || fail "members that differ, $how, at $shape"
  done
done
# A wrong argument of a call that MPI refuses is reported once, too.
cat >refused.c <<'END'
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  const int how = atoi(argv[1]);
  int a[8] = {0};
  MPI_Datatype pair;
  MPI_Comm dup;
  MPI_Request r;
  MPI_Init(&argc, &argv);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  if (how == 0) MPI_Send(a, 1, pair, 0, 0, MPI_COMM_WORLD);
  if (how == 1) MPI_Allreduce(a, a, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm freed = dup;
  MPI_Comm_free(&dup);
  if (how == 2) MPI_Barrier(freed);
  MPI_Recv_init(a, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &r);
  MPI_Start(&r);
  if (how == 3) MPI_Start(&r);
  return MPI_Finalize();
}
END
"$bin/mpicc" -g -w refused.c -o refused || fail "mpicc refused.c"
for how in 0 1 2 3; do
  status 86 -check=arguments -n 1 -nfg 2 ./refused $how
  grep -q '^fgmpi: check: 1 finding$' out || fail "a call that is refused, $how"
done
echo ok
