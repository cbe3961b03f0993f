// Reads a file in each way that there is, and prints what it has read: hashes, and the first line.
//
//   reads FILE [LARGE]     all ranks read FILE; of LARGE each reads a piece of its own
//   reads -changing FILE   rank 0 reads FILE before and behind a read of standard input
//   reads -many FOLDER     each rank reads the files 0 ... 9 there, from there
#include <fcntl.h>
#include <mpi.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace {

int g_rank = 0;

void show(const char* way, const std::string& bytes) {
  unsigned long sum = 5381;
  for (const char c : bytes) sum = sum * 33 + static_cast<unsigned char>(c);
  std::printf("%d %s: %zu bytes, %lx, %.12s\n", g_rank, way, bytes.size(), sum,
              bytes.substr(0, bytes.find('\n')).c_str());
}
[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(3);
}

std::string read_descriptor(const char* path) {
  const int fd = open(path, O_RDONLY), other = dup(fd);
  if (fd < 0) fail(path);
  std::string all(static_cast<size_t>(lseek(fd, 0, SEEK_END)), 0);
  lseek(other, 0, SEEK_SET);
  size_t at = 0;
  for (ssize_t n = 1; n > 0; at += static_cast<size_t>(n)) n = read(fd, &all[at], 1000);
  if (pread(fd, &all[0], all.size() / 2, 0) < 0) fail("pread");
  iovec parts[2] = {{&all[0], 10}, {&all[10], all.size() - 10}};
  if (preadv(other, parts, 2, 0) < 0) fail("preadv");
  lseek(fd, 0, SEEK_SET);
  if (readv(other, parts, 2) < 0) fail("readv");
  close(fd);
  close(other);
  return all;
}
std::string read_stdio(const char* path) {
  std::FILE* file = std::fopen(path, "r");
  if (!file) fail(path);
  std::string all;
  for (int c; (c = std::fgetc(file)) != EOF;) all += static_cast<char>(c);
  std::fclose(file);
  return all;
}
std::string read_stream(const char* path) {
  std::ifstream in(path);
  std::string all, line;
  while (std::getline(in, line)) all += line + "\n";
  return all;
}
std::string read_mapping(const char* path) {
  const int fd = open(path, O_RDONLY);
  struct stat s;
  if (fd < 0 || fstat(fd, &s) != 0) fail(path);
  const auto size = static_cast<size_t>(s.st_size);
  void* bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (bytes == MAP_FAILED) fail("mmap");
  std::string all(static_cast<const char*>(bytes), size);
  munmap(bytes, size);
  return all;
}
std::string read_mpi(const char* path) {
  MPI_File file;
  MPI_Offset size = 0;
  if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file)) fail(path);
  MPI_File_get_size(file, &size);
  std::string all(static_cast<size_t>(size), 0);
  MPI_File_read_at_all(file, 0, &all[0], static_cast<int>(size), MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  return all;
}
/// A million bytes at a place of this rank's, of a file that is mostly holes.
std::string read_piece(const char* path) {
  const int fd = open(path, O_RDONLY);
  std::string piece(1000000, 0);
  if (fd < 0 || pread(fd, &piece[0], piece.size(), (g_rank + 1) * 100000000L) < 0) fail(path);
  close(fd);
  return piece;
}
/// A file that is changed by others between two reads, which standard input synchronises, and that
/// is overwritten at the end.
void read_changing(const char* path) {
  const int fd = open(path, O_RDONLY);
  std::string part(100000, 0);
  if (fd < 0 || read(fd, &part[0], part.size()) < 0) fail(path);
  show("before", part);
  std::fflush(stdout);
  (void)std::getchar();
  if (pread(fd, &part[0], part.size(), 0) < 0) fail(path);
  show("behind", part);
  if (read(fd, &part[0], part.size()) < 0) fail(path);
  show("the rest", part);
  show("once more", read_stdio(path));
  std::ofstream(path) << "written by the run";
  show("its own", read_stdio(path));
  close(fd);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  if (std::strcmp(argv[1], "-changing") == 0 || std::strcmp(argv[1], "-many") == 0) {
    if (argv[1][1] == 'c' && g_rank == 0) read_changing(argv[2]);
    if (argv[1][1] == 'm' && chdir(argv[2]) != 0 && chdir("../many") != 0) fail(argv[2]);
    for (int i = 0; i < 10 && argv[1][1] == 'm'; ++i)
      show("one of many", read_stdio(std::to_string(i).c_str()));
    MPI_Finalize();
    return 0;
  }
  show("open", read_descriptor(argv[1]));
  MPI_Barrier(MPI_COMM_WORLD);
  show("fopen", read_stdio(argv[1]));
  show("ifstream", read_stream(argv[1]));
  MPI_Barrier(MPI_COMM_WORLD);
  show("mmap", read_mapping(argv[1]));
  show("MPI_File_open", read_mpi(argv[1]));
  if (argc > 2) show("a piece", read_piece(argv[2]));
  // What comes behind is only the same where everything else has been.
  MPI_Barrier(MPI_COMM_WORLD);
  show("again", read_stdio(argv[1]));
  MPI_Finalize();
  return 0;
}
