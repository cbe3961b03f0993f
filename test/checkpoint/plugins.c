/* Libraries that ranks have loaded by dlopen when they are saved: variables, pointers to functions, handles and what they have
 * registered stay as they are. plugins FOLDER: with the libraries of plugins.sh. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>

#include "checkpoint.h"

typedef int Step(int);
static void* open_in(const char* folder, const char* name) {
  char path[500];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  void* handle = dlopen(path, RTLD_NOW);
  if (!handle) fprintf(stderr, "rank %d: %s\n", rank, dlerror());
  CHECK(handle);
  return handle;
}

static int seen_images;
static int count_images(struct dl_phdr_info* info, size_t bytes, void* name) {
  (void)bytes;
  seen_images += strstr(info->dlpi_name, name) != NULL;
  return 0;
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  const char* folder = argc > 1 ? argv[1] : ".";
  void* state = open_in(folder, "state.so");
  void* again = open_in(folder, "state.so");
  void* more = rank % 2 ? open_in(folder, "more.so") : NULL;
  void *self = dlopen(NULL, RTLD_NOW), *math = dlopen("libm.so.6", RTLD_NOW);
  if (!state || !self || !math || (rank % 2 && !more)) MPI_Abort(MPI_COMM_WORLD, 2);
  Step* step = (Step*)dlsym(state, "state_step");
  Step* throws = more ? (Step*)dlsym(more, "more_step") : NULL;
  double (*cosine)(double) = (double (*)(double))dlsym(math, "cos");
  int* const value = dlsym(state, "state_value");
  char* const space = dlsym(state, "state_space");
  Step* const by_pointer = *(Step**)dlsym(state, "state_pointer");
  CHECK(step && value && space && by_pointer == step && again == state && cosine(0) == 1);
  for (int i = 0; i < 300000; i += 1000) space[i] = (char)(i / 1000 + rank);
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 5; ++i) step(rank + 1);
    if (more) CHECK(throws(round) == round * 2 + 1000 + rank * (round + 1));
    if (round == 1 || round == 3) checkpoint(); /* a second one is based on the first */
    CHECK(*value == 7 + (round + 1) * 5 * (rank + 1));
    for (int i = 0; i < 300000; i += 1000) CHECK(space[i] == (char)(i / 1000 + rank));
    CHECK((Step*)dlsym(state, "state_step") == step &&
          *(Step**)dlsym(state, "state_pointer") == step);
    CHECK(dlsym(state, "state_nothing") == NULL && dlerror() != NULL);
    CHECK((double (*)(double))dlsym(math, "cos") == cosine && cosine(0) == 1);
    CHECK(dlsym(self, "MPI_Barrier") != NULL);
    Dl_info info;
    CHECK(dladdr((void*)step, &info) && strstr(info.dli_fname, "state.so") &&
          !strcmp(info.dli_sname, "state_step") && info.dli_saddr == (void*)step);
    struct link_map* map = NULL;
    CHECK(dlinfo(state, RTLD_DI_LINKMAP, &map) == 0 && strstr(map->l_name, "state.so"));
    seen_images = 0;
    dl_iterate_phdr(count_images, "more.so");
    CHECK(seen_images == (more ? 1 : 0));
    void* third = open_in(folder, "state.so");
    CHECK(third == state && dlclose(third) == 0);
    if (round == 2) { /* what is opened for the first time in the process that goes on, or not */
      void* base = open_in(folder, "base.so");
      Step* add = (Step*)dlsym(base, "base_add");
      CHECK(add && add(0) == (more ? 1000 + rank * 3 : 1000));
      CHECK(dlclose(base) == 0);
    }
  }
  CHECK(dlclose(state) == 0 && step(0) == *value); /* it is still open */
  if (more) CHECK(dlclose(more) == 0);
  checkpoint();
  CHECK(*value == 7 + 20 * (rank + 1) && dlclose(again) == 0);
  char path[500];
  snprintf(path, sizeof path, "%s/state.so", folder);
  CHECK(dlopen(path, RTLD_NOW | RTLD_NOLOAD) == NULL);
  CHECK(dlclose(self) == 0 && dlclose(math) == 0);
  return finish();
}
