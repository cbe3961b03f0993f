/* Children that are other programs than their parents, in C, C++ and Fortran: one and several at
 * once, as processes and as proclets. Fortran's MPI cannot be loaded into a running process:
 * refused, with words. */
#include "child_of_others.h"
#include "spawning.h"

static char folder[4096];

static void path_of(const char* name, char path[4200]) {
  snprintf(path, 4200, "%s/%s", folder, name);
}

static int spawn(int count, const char* const* names, const char* where, const char* refused) {
  char paths[3][4200], *programs[3], text[MPI_MAX_ERROR_STRING];
  char* arguments[] = {"an argument", NULL};
  char** lists[] = {arguments, arguments, arguments};
  int most[] = {2, 1, 3}, codes[6] = {-1, -1, -1, -1, -1, -1}, length, all = 0, remote;
  MPI_Info info;
  MPI_Comm children;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "fgmpi_where", where));
  MPI_Info infos[] = {info, info, info};
  for (int k = 0; k < count; ++k) {
    path_of(names[k], paths[k]);
    programs[k] = paths[k];
    all += most[k];
  }
  const int code = MPI_Comm_spawn_multiple(count, programs, lists, most, infos, 0, MPI_COMM_WORLD,
                                           &children, codes);
  OK(MPI_Info_free(&info));
  if (refused) {
    OK(MPI_Error_string(code, text, &length));
    CHECK(class_of(code) == MPI_ERR_SPAWN && strstr(text, refused));
    CHECK(class_of(codes[all - 1]) == MPI_ERR_SPAWN);
    return 0;
  }
  OK(code);
  for (int i = 0; i < all; ++i) CHECK(codes[i] == MPI_SUCCESS);
  OK(MPI_Comm_remote_size(children, &remote));
  CHECK(remote == all);
  greet(children);
  return MPI_Comm_disconnect(&children);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  strncpy(folder, argv[0], sizeof folder - 1);
  char* slash = strrchr(folder, '/');
  CHECK(slash);
  *slash = 0;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  const char *c[] = {"child_c"}, *cxx[] = {"child_cxx"}, *fortran[] = {"child_fortran"};
  const char *both[] = {"child_cxx", "child_c"}, *with_fortran[] = {"child_c", "child_fortran"};
  const char* three[] = {"child_c", "child_cxx", "child_fortran"};
  OK(spawn(1, c, "here", NULL));
  OK(spawn(1, cxx, "here", NULL));
  OK(spawn(2, both, "here", NULL));
  OK(spawn(1, fortran, "here", "Fortran"));
  OK(spawn(2, with_fortran, "here", "Fortran"));
  OK(spawn(1, fortran, "processes", NULL));
  OK(spawn(3, three, "processes", NULL));
  OK(spawn(2, both, "here", NULL));
  return finish();
}
