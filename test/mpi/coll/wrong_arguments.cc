/* Broadcasts and scatters by multicast (FGMPI_COLL_BCAST=multicast and so on) in which the ranks of
 * the last process give another root, type or count than the others: somebody gets an error, at the
 * latest in one of the communicator's next collectives, nothing hangs, and afterwards all is well.
 * Blocking, persistent, and in opened groups. By multicast or not, types that differ but have equal
 * signatures are right. */
#include <fgmpi.h>
#include <string.h>

#include <vector>

#include "mpitest.h"

namespace {

enum Call { kBcast, kScatter, kScatterv, kCalls };
enum Form { kPlain, kPersistent, kOpened, kForms };
const char* const kNames[] = {"BCAST", "SCATTER", "SCATTER"};

int g_rank, g_size, g_first_of_last;
MPI_Comm g_comm;

/// What a rank gives: n elements a rank.
struct Given {
  int n, root;
  MPI_Datatype root_type, type;
  bool is_opened = false;
};

struct Buffers {
  std::vector<int> all, mine, counts, displs;
  Buffers(const Given& g, int round) : counts(static_cast<size_t>(g_size)), displs(counts) {
    int bytes;
    OK(MPI_Type_size(g.root_type, &bytes));
    const int ints = g.n * bytes / 4;
    all.resize(static_cast<size_t>(ints) * 2 * static_cast<size_t>(g_size) + 16);
    mine.assign(static_cast<size_t>(ints) * 2 + 16, -1);
    for (size_t r = 0; r < counts.size(); ++r) {
      counts[r] = g.n;
      displs[r] = static_cast<int>(r) * g.n;
    }
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i) * 7 + round;
  }
};

#define DO(NAME, ...)                                                    \
  if (form == kPlain) return MPI_##NAME(__VA_ARGS__);                    \
  if (form == kOpened) return MPIX_##NAME##_data_movement(__VA_ARGS__);  \
  MPI_Request request;                                                   \
  int code = MPI_##NAME##_init(__VA_ARGS__, MPI_INFO_NULL, &request);    \
  if (code == MPI_SUCCESS) code = MPI_Start(&request);                   \
  if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE); \
  MPI_Request_free(&request);                                            \
  return code

int run_bcast(Form form, const Given& g, Buffers* b) {
  void* data = g_rank == g.root ? b->all.data() : b->mine.data();
  DO(Bcast, data, g.n, g_rank == g.root ? g.root_type : g.type, g.root, g_comm);
}
int run_scatter(Form form, const Given& g, Buffers* b) {
  DO(Scatter, b->all.data(), g.n, g.root_type, b->mine.data(), g.n, g.type, g.root, g_comm);
}
int run_scatterv(Form form, const Given& g, Buffers* b) {
  DO(Scatterv, b->all.data(), b->counts.data(), b->displs.data(), g.root_type, b->mine.data(), g.n,
     g.type, g.root, g_comm);
}
int run(Call call, Form form, const Given& g, Buffers* b) {
  return call == kBcast     ? run_bcast(form, g, b)
         : call == kScatter ? run_scatter(form, g, b)
                            : run_scatterv(form, g, b);
}

bool anybody(bool here) {
  int mine = here, all;
  OK(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD));
  return all;
}
/// Has the last collective, or one of the next, failed somewhere?
bool fails(int code) {
  bool failed = anybody(code != MPI_SUCCESS);
  for (int i = 0; i < 50 && !failed; ++i) {
    OK(MPIX_Usleep(10000));
    failed = anybody(MPI_Barrier(g_comm) != MPI_SUCCESS);
  }
  return failed;
}
/// Errors that are still to come come now.
void settle() {
  for (int i = 0; i < 3; ++i) {
    OK(MPIX_Usleep(20000));
    MPI_Barrier(g_comm);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
}

void check_right(Call call, Form form, const Given& g, int round) {
  Buffers b(g, round);
  OK(run(call, form, g, &b));
  int bytes;
  OK(MPI_Type_size(g.root_type, &bytes));
  if (g_rank == g.root && call == kBcast) return;
  const int n = g.n * bytes / 4, from = call == kBcast ? 0 : g_rank * n;
  for (int i = 0; i < n; ++i) CHECK(b.mine[static_cast<size_t>(i)] == (from + i) * 7 + round);
}

void wrong(Call call, Form form, const char* what, const Given& right, const Given& given) {
  const bool is_wrong = g_rank >= g_first_of_last;
  Buffers b(is_wrong ? given : right, 3);
  const int code = run(call, form, is_wrong ? given : right, &b);
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (code != MPI_SUCCESS) OK(MPI_Error_string(code, text, &length));
  CHECK(code == MPI_SUCCESS || length > 20);
  if (!fails(code)) {
    if (g_rank == 0)
      fprintf(stderr, "call %d, form %d: another %s is no error\n", call, form, what);
    CHECK(false);
  }
  settle();
  check_right(call, form, right, 11);
}

void all_of(Call call, Form form, int n) {
  if (form == kOpened) {  // opening looks at no arguments
    if (call == kBcast) OK(MPIX_Bcast_open_group(nullptr, 0, MPI_INT, 0, g_comm));
    if (call == kScatter)
      OK(MPIX_Scatter_open_group(nullptr, 0, MPI_INT, nullptr, 0, MPI_INT, 0, g_comm));
    if (call == kScatterv)
      OK(MPIX_Scatterv_open_group(nullptr, nullptr, nullptr, MPI_INT, nullptr, 0, MPI_INT, 0,
                                  g_comm));
  }
  const Given right{n, 0, MPI_INT, MPI_INT};
  check_right(call, form, right, 1);
  Given other = right;
  other.root = g_size - 1;  // of the last process: two roots
  wrong(call, form, "root of its own", right, other);
  if (g_first_of_last > 1) {
    other.root = g_first_of_last - 1;
    wrong(call, form, "root", right, other);
  }
  other = right;
  other.n = n + 1;
  wrong(call, form, "count", right, other);
  other = right;
  other.type = MPI_FLOAT;
  wrong(call, form, "type", right, other);
  if (form == kOpened) {
    if (call == kBcast) OK(MPIX_Bcast_close_group(nullptr, 0, MPI_INT, 0, g_comm));
    if (call == kScatter)
      OK(MPIX_Scatter_close_group(nullptr, 0, MPI_INT, nullptr, 0, MPI_INT, 0, g_comm));
    if (call == kScatterv)
      OK(MPIX_Scatterv_close_group(nullptr, nullptr, nullptr, MPI_INT, nullptr, 0, MPI_INT, 0,
                                   g_comm));
  }
}

/// Equal signatures: the root's derived types, the others' basic ones, bytes, and back.
void equal_signatures(Call call, int n) {
  MPI_Datatype row, pair;
  OK(MPI_Type_contiguous(2, MPI_INT, &row));
  int lengths[2] = {1, 1};
  MPI_Aint at[2] = {0, 4};
  MPI_Datatype parts[2] = {MPI_INT, MPI_FLOAT};
  OK(MPI_Type_create_struct(2, lengths, at, parts, &pair));
  OK(MPI_Type_commit(&row));
  OK(MPI_Type_commit(&pair));
  const MPI_Datatype alike[][2] = {
      {row, row},   {MPI_INT, MPI_INT32_T}, {MPI_INT, MPI_BYTE},   {MPI_BYTE, MPI_INT},
      {pair, pair}, {pair, MPI_BYTE},       {MPI_INT, MPI_INTEGER}};
  for (const auto& types : alike) {
    Given g{n, 0, types[0], types[1]};
    int here, there;
    OK(MPI_Type_size(types[0], &here));
    OK(MPI_Type_size(types[1], &there));
    if (here != there) continue;  // counts are the same
    check_right(call, kPlain, g, 5);
  }
  // The same data as twice as many basic elements at some ranks.
  Given g{g_rank % 2 ? n : 2 * n, 0, g_rank % 2 ? row : MPI_INT, g_rank % 2 ? row : MPI_INT};
  check_right(call, kPlain, g, 6);
  OK(MPI_Type_free(&row));
  OK(MPI_Type_free(&pair));
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &g_rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &g_size));
  OK(MPIX_Get_collocated_startrank(&g_first_of_last));
  OK(MPI_Bcast(&g_first_of_last, 1, MPI_INT, g_size - 1, MPI_COMM_WORLD));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &g_comm));
  for (int call = 0; call < kCalls; ++call)
    for (int n : {8, 5000, 40000}) equal_signatures(static_cast<Call>(call), n);
  OK(MPI_Comm_set_errhandler(g_comm, MPI_ERRORS_RETURN));
  for (int call = 0; call < kCalls && g_first_of_last > 0; ++call) {
    char name[40];
    snprintf(name, sizeof name, "FGMPI_COLL_%s", kNames[call]);
    const char* algorithm = getenv(name);
    if (!algorithm || strcmp(algorithm, "multicast") != 0) continue;
    for (int form = 0; form < kForms; ++form)
      for (int n : {8, 5000, 40000}) all_of(static_cast<Call>(call), static_cast<Form>(form), n);
  }
  OK(MPI_Comm_free(&g_comm));
  return finish();
}
