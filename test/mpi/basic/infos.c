/* What every call says of an info object that is none, also where it has no use for one. And what
 * MPI_Info_get and MPI_Info_get_string do with values that are longer than the program's memory:
 * the value is cut, which is no error, and nothing is written behind it (MPI-4.0 chapter 10). */
#include <string.h>

#include "mpitest.h"

#define REFUSED(call)                    \
  do {                                   \
    int class_ = -1, code_ = (call);     \
    OK(MPI_Error_class(code_, &class_)); \
    CHECK(class_ == MPI_ERR_INFO);       \
  } while (0)

static void refused(MPI_Info bad) {
  void* memory;
  int in = 0, out = 0, number = 0, self = 0, weight = 1;
  char port[MPI_MAX_PORT_NAME] = "", name[16];
  MPI_Request request;
  MPI_Comm made;
  MPI_Win win;
  MPI_File file;
  MPI_Session session;
  OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
  REFUSED(MPI_Alloc_mem(8, bad, &memory));
  REFUSED(MPI_Psend_init(&in, 1, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, bad, &request));
  REFUSED(MPI_Precv_init(&in, 1, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, bad, &request));
  REFUSED(MPI_Barrier_init(MPI_COMM_SELF, bad, &request));
  REFUSED(MPI_Allreduce_init(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, bad, &request));
  REFUSED(MPI_Comm_dup_with_info(MPI_COMM_SELF, bad, &made));
  REFUSED(MPI_Comm_idup_with_info(MPI_COMM_SELF, bad, &made, &request));
  REFUSED(MPI_Comm_set_info(MPI_COMM_SELF, bad));
  REFUSED(MPI_Comm_split_type(MPI_COMM_SELF, MPI_COMM_TYPE_SHARED, 0, bad, &made));
  REFUSED(MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 1, &self, &weight, 1, &self, &weight, bad,
                                         0, &made));
  REFUSED(MPI_Dist_graph_create(MPI_COMM_SELF, 1, &self, &weight, &self, &weight, bad, 0, &made));
  REFUSED(MPI_Open_port(bad, port));
  REFUSED(MPI_Publish_name("fgmpi test of infos", bad, "port"));
  REFUSED(MPI_Unpublish_name("fgmpi test of infos", bad, "port"));
  REFUSED(MPI_Lookup_name("fgmpi test of infos", bad, port));
  REFUSED(MPI_Win_create(&in, sizeof in, 1, bad, MPI_COMM_SELF, &win));
  REFUSED(MPI_Win_create_dynamic(bad, MPI_COMM_SELF, &win));
  REFUSED(MPI_File_open(MPI_COMM_SELF, "/", MPI_MODE_RDONLY, bad, &file));
  REFUSED(MPI_File_delete("/no/such/file", bad));
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  REFUSED(MPI_Session_get_num_psets(session, bad, &number));
  number = sizeof name;
  REFUSED(MPI_Session_get_nth_pset(session, bad, 0, &number, name));
  OK(MPI_Session_finalize(&session));
}

int main(int argc, char** argv) {
  static const char whole[] = "0123456789";
  const int length = (int)strlen(whole);
  MPI_Info info;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "key", whole));
  for (int most = 0; most <= length + 2; ++most) {
    char value[32], wanted[32];
    int flag = -1, bytes = most;
    memset(wanted, 'z', sizeof wanted);
    memcpy(wanted, whole, (size_t)(most < length ? most : length));
    wanted[most < length ? most : length] = 0;
    memset(value, 'z', sizeof value);
    OK(MPI_Info_get(info, "key", most, value, &flag)); /* the null comes beside */
    CHECK(flag == 1 && memcmp(value, wanted, sizeof value) == 0);
    memset(value, 'z', sizeof value);
    memset(wanted, 'z', sizeof wanted);
    if (most > 0) {
      const int given = most - 1 < length ? most - 1 : length;
      memcpy(wanted, whole, (size_t)given);
      wanted[given] = 0;
    }
    OK(MPI_Info_get_string(info, "key", &bytes, value, &flag)); /* the null is among them */
    CHECK(flag == 1 && bytes == length + 1 && memcmp(value, wanted, sizeof value) == 0);
    bytes = most;
    OK(MPI_Info_get_string(info, "absent", &bytes, value, &flag));
    CHECK(flag == 0 && bytes == most && memcmp(value, wanted, sizeof value) == 0);
    OK(MPI_Info_get(info, "absent", most, value, &flag));
    CHECK(flag == 0 && memcmp(value, wanted, sizeof value) == 0);
  }
  int flag = -1, bytes = -1;
  char value[4];
  OK(MPI_Info_get_valuelen(info, "key", &bytes, &flag));
  CHECK(flag == 1 && bytes == length);
  bytes = 77;
  OK(MPI_Info_get_valuelen(info, "absent", &bytes, &flag));
  CHECK(flag == 0 && bytes == 77);
  CHECK(MPI_Info_get(info, "key", -1, value, &flag) != MPI_SUCCESS);
  bytes = -1;
  CHECK(MPI_Info_get_string(info, "key", &bytes, value, &flag) != MPI_SUCCESS);
  const MPI_Info freed = info;
  OK(MPI_Info_free(&info));
  refused(freed);
  refused((MPI_Info)77);
  return finish();
}
