// Files against a model in memory: in every step each block of a region belongs to a rank drawn at
// random, which writes its blocks through a view, in one of all ways; then blocks are dealt out
// anew and read in another way. Fixed seeds: every rank knows what all have written.
#include "filetest.h"

#include <cstdint>
#include <cstring>
#include <vector>

namespace {

uint64_t mixed(uint64_t a, uint64_t b, uint64_t c = 0) {
  uint64_t x = a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u + c * 0x94d049bb133111ebu + 1;
  x ^= x >> 31;
  x *= 0xd6e8feb86659fd93u;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  return x ^ x >> 29;
}

// How the blocks of a region belong to ranks in a step.
struct Deal {
  uint64_t seed;
  int blocks, bytes, tiles, disp;
  int owner(int block) const {
    return static_cast<int>(mixed(seed, static_cast<uint64_t>(block), 7) %
                            static_cast<uint64_t>(size));
  }
  int64_t extent() const { return int64_t{blocks} * bytes; }
  int64_t offset(int tile, int block) const {
    return disp + tile * extent() + int64_t{block} * bytes;
  }
  Deal(uint64_t s) : seed(s) {
    blocks = 2 * size + static_cast<int>(mixed(s, 1) % 40);
    // Every rank keeps a model of the whole: small blocks where there are many ranks.
    bytes = static_cast<int>(1 + mixed(s, 2) % (size > 500 ? 6 : mixed(s, 3) % 3 ? 60 : 3000));
    tiles = static_cast<int>(1 + mixed(s, 4) % (size > 500 ? 2 : 3));
    disp = static_cast<int>(mixed(s, 5) % 100);
  }
  std::vector<int> mine() const {
    std::vector<int> list;
    for (int b = 0; b < blocks; b++)
      if (owner(b) == rank) list.push_back(b);
    return list;
  }
};

// The elements in memory: bytes in a row, or rows with gaps.
struct Memory {
  int64_t bytes;
  bool gaps;
  MPI_Datatype type = MPI_BYTE;
  int count;
  std::vector<unsigned char> space;
  Memory(int64_t n, bool with_gaps)
      : bytes(n), gaps(with_gaps && n > 0), count(static_cast<int>(n)) {
    space.resize(static_cast<size_t>(3 * n + 1), 0xee);
    if (!gaps) return;
    OK(MPI_Type_vector(static_cast<int>(n), 1, 3, MPI_BYTE, &type));
    OK(MPI_Type_commit(&type));
    count = 1;
  }
  ~Memory() {
    if (gaps) MPI_Type_free(&type);
  }
  unsigned char& at(int64_t i) { return space[static_cast<size_t>(gaps ? 3 * i : i)]; }
  void untouched() {
    if (!gaps) return;
    for (size_t i = 0; i + 1 < space.size(); i++)
      if (i % 3) CHECK(space[i] == 0xee);
  }
};

void set_view(MPI_File f, const Deal& deal, const std::vector<int>& mine) {
  MPI_Datatype list, filetype;
  if (mine.empty()) {
    OK(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    return;
  }
  std::vector<int> displs;
  for (int b : mine) displs.push_back(b * deal.bytes);
  OK(MPI_Type_create_indexed_block(static_cast<int>(displs.size()), deal.bytes, displs.data(),
                                   MPI_BYTE, &list));
  OK(MPI_Type_create_resized(list, 0, deal.extent(), &filetype));
  OK(MPI_Type_commit(&filetype));
  OK(MPI_File_set_view(f, deal.disp, MPI_BYTE, filetype, "native", MPI_INFO_NULL));
  OK(MPI_Type_free(&list));
  OK(MPI_Type_free(&filetype));
}

void move(MPI_File f, bool write, int way, Memory& m) {
  MPI_Status s;
  MPI_Request r;
  void* p = m.space.data();
  switch (way) {
    case 0:
      OK(write ? MPI_File_write_all(f, p, m.count, m.type, &s)
               : MPI_File_read_all(f, p, m.count, m.type, &s));
      break;
    case 1:
      OK(write ? MPI_File_write(f, p, m.count, m.type, &s)
               : MPI_File_read(f, p, m.count, m.type, &s));
      break;
    case 2:
      OK(write ? MPI_File_iwrite_at_all(f, 0, p, m.count, m.type, &r)
               : MPI_File_iread_at_all(f, 0, p, m.count, m.type, &r));
      OK(MPI_Wait(&r, &s));
      break;
    case 3:
      OK(write ? MPI_File_iwrite(f, p, m.count, m.type, &r)
               : MPI_File_iread(f, p, m.count, m.type, &r));
      OK(MPI_Wait(&r, &s));
      break;
    default:
      if (write) {
        OK(MPI_File_write_all_begin(f, p, m.count, m.type));
        OK(MPI_File_write_all_end(f, p, &s));
      } else {
        OK(MPI_File_read_all_begin(f, p, m.count, m.type));
        OK(MPI_File_read_all_end(f, p, &s));
      }
  }
  MPI_Count n;
  OK(MPI_Get_elements_x(&s, MPI_BYTE, &n));
  CHECK(n == m.bytes);
}

void run(MPI_File f, uint64_t seed, std::vector<unsigned char>* model) {
  const Deal deal(mixed(seed, 1));
  const std::vector<int> mine = deal.mine();
  const auto bytes = static_cast<int64_t>(mine.size()) * deal.bytes * deal.tiles;
  OK(MPI_File_set_atomicity(f, mixed(seed, 2) % 4 == 0));
  set_view(f, deal, mine);
  Memory out(bytes, mixed(seed, 3) % 2);
  const auto need = static_cast<size_t>(deal.offset(deal.tiles, 0));
  if (model->size() < need) model->resize(need);
  int64_t i = 0;
  for (int t = 0; t < deal.tiles; t++)
    for (int b = 0; b < deal.blocks; b++)
      for (int k = 0; k < deal.bytes; k++) {
        const int64_t at = deal.offset(t, b) + k;
        const auto value = static_cast<unsigned char>(mixed(seed, static_cast<uint64_t>(at)));
        (*model)[static_cast<size_t>(at)] = value;
        if (deal.owner(b) == rank) out.at(i++) = value;
      }
  CHECK(i == bytes);
  move(f, true, static_cast<int>(mixed(seed, 4) % 5), out);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const Deal other(mixed(seed, 5));
  const std::vector<int> theirs = other.mine();
  set_view(f, other, theirs);
  int64_t want = 0;
  std::vector<int64_t> places;
  for (int t = 0; t < other.tiles; t++)
    for (int b : theirs)
      for (int k = 0; k < other.bytes; k++) places.push_back(other.offset(t, b) + k);
  MPI_Offset end;
  OK(MPI_File_get_size(f, &end));
  CHECK(end <= static_cast<MPI_Offset>(model->size()));
  while (want < static_cast<int64_t>(places.size()) && places[static_cast<size_t>(want)] < end)
    ++want;
  Memory in(want, mixed(seed, 6) % 2);
  move(f, false, static_cast<int>(mixed(seed, 7) % 5), in);
  for (int64_t k = 0; k < want; k++)
    CHECK(in.at(k) == (*model)[static_cast<size_t>(places[static_cast<size_t>(k)])]);
  in.untouched();
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

}  // namespace

int main(int argc, char** argv) {
  start(&argc, &argv, "model");
  const int steps = size > 500 ? 4 : size > 40 ? 2 : 20;
  for (int hints = 0; hints < 3; hints++) {
    MPI_Info info;
    MPI_File f;
    OK(MPI_Info_create(&info));
    const char* exchange[] = {"automatic", "enable", "disable"};
    OK(MPI_Info_set(info, "romio_cb_write", exchange[hints]));
    OK(MPI_Info_set(info, "romio_cb_read", exchange[hints]));
    OK(MPI_Info_set(info, "cb_buffer_size", hints == 1 ? "4096" : "1000000"));
    OK(MPI_Info_set(info, "cb_nodes", "2"));
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &f));
    OK(MPI_Info_free(&info));
    std::vector<unsigned char> model;
    for (int step = 0; step < steps; step++)
      run(f, mixed(static_cast<uint64_t>(hints), static_cast<uint64_t>(step), 24), &model);
    OK(MPI_File_close(&f));
    if (rank == 0) OK(MPI_File_delete(name, MPI_INFO_NULL));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  return finish();
}
