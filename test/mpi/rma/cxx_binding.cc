// Windows in the C++ binding (MPI-2.2 chapter 16): objects, epochs, operations, attributes with
// functions, error handlers.
#include <mpi.h>

#include <cstring>
#include <vector>

#include "mpitest.h"

static int g_deleted, g_handled;
static int g_value = 42;  ///< of the attribute, which is deleted with the window

static int copy_attribute(const MPI::Win&, int, void*, void*, void*, bool& flag) {
  flag = false;
  return MPI_SUCCESS;
}

static int delete_attribute(MPI::Win&, int, void* value, void* extra) {
  CHECK(*static_cast<int*>(value) == 42 && extra == &g_deleted);
  ++g_deleted;
  return MPI_SUCCESS;
}

static void handle(MPI::Win& win, int* code, ...) {
  int error_class;
  OK(MPI_Error_class(*code, &error_class));
  CHECK(error_class == MPI_ERR_RMA_RANGE && win != MPI::WIN_NULL);
  ++g_handled;
}

static void epochs(const MPI::Win& win, std::vector<int>* memory) {
  const int rank = MPI::COMM_WORLD.Get_rank(), size = MPI::COMM_WORLD.Get_size();
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  const int mine = 100 + rank, one = 1;
  int seen = -1;
  win.Fence(0);
  win.Put(&mine, 1, MPI::INT, right, 1, 1, MPI::INT);
  win.Fence(0);
  CHECK((*memory)[1] == 100 + left);
  win.Get(&seen, 1, MPI::INT, right, 1, 1, MPI::INT);
  win.Fence(MPI::MODE_NOSUCCEED);
  CHECK(seen == mine);

  MPI::Group all = win.Get_group();
  MPI::Group from = all.Incl(1, &left), to = all.Incl(1, &right);
  win.Post(from, 0);
  win.Start(to, 0);
  win.Put(&mine, 1, MPI::INT, right, 2, 1, MPI::INT);
  win.Complete();
  win.Wait();
  CHECK((*memory)[2] == 100 + left);
  win.Post(from, 0);
  win.Start(to, 0);
  win.Complete();
  while (!win.Test()) continue;
  all.Free();
  from.Free();
  to.Free();

  win.Lock(MPI::LOCK_SHARED, 0, 0);
  win.Accumulate(&one, 1, MPI::INT, 0, 3, 1, MPI::INT, MPI::SUM);
  win.Unlock(0);
  MPI::COMM_WORLD.Barrier();
  win.Lock(MPI::LOCK_EXCLUSIVE, 0, 0);
  win.Get(&seen, 1, MPI::INT, 0, 3, 1, MPI::INT);
  win.Unlock(0);
  CHECK(seen == size);
}

static void attributes(MPI::Win* win) {
  void* value;
  CHECK(win->Get_attr(MPI::WIN_SIZE, &value) &&
        *static_cast<MPI::Aint*>(value) == 8 * static_cast<MPI::Aint>(sizeof(int)));
  int keyval = MPI::Win::Create_keyval(copy_attribute, delete_attribute, &g_deleted);
  CHECK(!win->Get_attr(keyval, &value));
  win->Set_attr(keyval, &g_value);
  CHECK(win->Get_attr(keyval, &value) && value == &g_value);
  win->Delete_attr(keyval);
  CHECK(g_deleted == 1);
  win->Set_attr(keyval, &g_value);
  MPI::Win::Free_keyval(keyval);
  char name[MPI_MAX_OBJECT_NAME];
  int length;
  win->Set_name("halo");
  win->Get_name(name, length);
  CHECK(length == 4 && !std::strcmp(name, "halo"));
}

static void errors(MPI::Win* win) {
  MPI::Errhandler handler = MPI::Win::Create_errhandler(handle);
  const int x = 1;
  win->Set_errhandler(handler);
  win->Lock(MPI::LOCK_SHARED, 0, 0);
  win->Put(&x, 1, MPI::INT, 0, 8, 1, MPI::INT);
  win->Unlock(0);
  CHECK(g_handled == 1);
  win->Call_errhandler(MPI_ERR_RMA_RANGE);
  CHECK(g_handled == 2);
  handler.Free();
  win->Set_errhandler(MPI::ERRORS_ARE_FATAL);
}

int main(int argc, char** argv) {
  MPI::Init(argc, argv);
  std::vector<int> memory(8);
  MPI::Win win = MPI::Win::Create(memory.data(), 8 * sizeof(int), sizeof(int), MPI::INFO_NULL,
                                  MPI::COMM_WORLD);
  epochs(win, &memory);
  attributes(&win);
  errors(&win);
  win.Free();
  CHECK(win == MPI::WIN_NULL && g_deleted == 2);
  return finish();
}
