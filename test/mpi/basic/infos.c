/* What MPI_Info_get and MPI_Info_get_string do with values that are longer than the program's memory: the value is cut, which
 * is no error, and nothing is written behind it (MPI-4.0 chapter 10). */
#include <string.h>

#include "mpitest.h"

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
  OK(MPI_Info_free(&info));
  return finish();
}
