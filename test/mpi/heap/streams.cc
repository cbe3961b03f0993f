// FGMPI_HEAP=rank: streams that a rank opens, their buffers, and what the C library gives a program lie in the memory of the
// rank. Those that it leaves open are written when it ends. usage: streams [FOLDER]: leaves files there, for streams.sh
#include <dirent.h>
#include <mpi.h>
#include <pthread.h>
#include <regex.h>
#include <search.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "memory_of.h"

namespace {

bool g_in_slots;
uint32_t g_index;

bool has_block(const Memory& memory, const void* at, size_t bytes) {
  for (const OfRank& m : memory)
    if (m.range.part == RankMemoryPart::kHeap && at >= m.range.low &&
        static_cast<const char*>(at) + bytes <= m.range.high)
      return true;
  return false;
}

/// Checks that these bytes are in the heap of the rank.
void check_own(const void* at, size_t bytes, const char* what) {
  check(at != nullptr, std::string(what) + ": null");
  static Memory known;  // a heap only grows
  if (!g_in_slots || has_block(known, at, bytes)) return;
  known = memory_of(g_index, 1);
  check(range_of(known, at, bytes, what).part == RankMemoryPart::kHeap,
        std::string(what) + ": another part");
}

void check_stream(FILE* stream, const char* what) {
  check_own(stream, sizeof *stream, what);
  if (stream->_IO_buf_base && stream->_IO_buf_base != stream->_shortbuf)
    check_own(stream->_IO_buf_base, static_cast<size_t>(stream->_IO_buf_end - stream->_IO_buf_base),
              what);
}

void use_file(const std::string& path) {
  FILE* file = std::fopen(path.c_str(), "w+");
  check_stream(file, "fopen");
  for (int i = 0; i < 2000; ++i) std::fprintf(file, "line %d of rank %d\n", i, g_rank);
  MPI_Barrier(MPI_COMM_WORLD);
  check_stream(file, "a file");
  std::rewind(file);
  char line[100], wanted[100];
  for (int i = 0; i < 2000; ++i) {
    std::snprintf(wanted, sizeof wanted, "line %d of rank %d\n", i, g_rank);
    check(std::fgets(line, sizeof line, file) && !std::strcmp(line, wanted), "another line");
    if (i % 500 == 0) MPI_Barrier(MPI_COMM_WORLD);
  }
  check(std::ungetc('x', file) == 'x' && std::ungetc('y', file) == 'y' && std::getc(file) == 'y',
        "ungetc");
  check(std::getc(file) == 'x', "ungetc, the first");
  std::rewind(file);  // the C library frees what does not exist where setvbuf() comes first
  for (int mode : {_IONBF, _IOFBF, _IOLBF}) {
    check(std::setvbuf(file, nullptr, mode, 0) == 0, "setvbuf");
    std::fseek(file, 0, SEEK_SET);
    check(std::getc(file) == 'l', "after setvbuf");
    check_stream(file, "setvbuf");
  }
  file = std::freopen(path.c_str(), "r", file);
  check_stream(file, "freopen");
  check(std::getc(file) == 'l', "after freopen");
  check_stream(file, "freopen, read");
  check(std::fclose(file) == 0, "fclose");
}

ssize_t write_and_wait(void* cookie, const char*, size_t bytes) {
  *static_cast<size_t*>(cookie) += bytes;
  MPI_Barrier(MPI_COMM_WORLD);
  return static_cast<ssize_t>(bytes);
}

void use_memory() {
  char* text = nullptr;
  size_t bytes = 0;
  FILE* stream = open_memstream(&text, &bytes);
  check_own(stream, sizeof *stream, "open_memstream");
  for (int i = 0; i < 20000; ++i) std::fprintf(stream, "%d ", i);
  std::fflush(stream);
  check_own(text, bytes, "the text of open_memstream");
  std::fclose(stream);
  check_own(text, bytes + 1, "the text that is left");
  check(!std::strncmp(text, "0 1 2 ", 6) && !std::strcmp(text + bytes - 6, "19999 "),
        "another text");
  FILE* reader = fmemopen(text, bytes, "r");
  check_own(reader, sizeof *reader, "fmemopen");
  int number = -1;
  check(std::fscanf(reader, "0 1 %d", &number) == 1 && number == 2, "fscanf");
  std::fclose(reader);
  std::free(text);

  // Its functions switch: other ranks allocate meanwhile.
  size_t written = 0;
  cookie_io_functions_t functions{};
  functions.write = write_and_wait;
  FILE* cookie = fopencookie(&written, "w", functions);
  check_own(cookie, sizeof *cookie, "fopencookie");
  std::fputs("some text", cookie);
  std::fflush(cookie);
  check(written == 9, "fopencookie: other bytes");
  std::fputs("more", cookie);
  check(std::fclose(cookie) == 0 && written == 13, "fopencookie: fclose");
}

int compare(const void* a, const void* b) {
  return std::strcmp(static_cast<const char*>(a), static_cast<const char*>(b));
}

void use_functions() {
  char* text = nullptr;
  check(asprintf(&text, "%0500d", g_rank) == 500, "asprintf");
  check_own(text, 501, "asprintf");
  std::free(text);
  regex_t regex;
  check(regcomp(&regex, "^(rank|process) [0-9]+$", REG_EXTENDED) == 0, "regcomp");
  check_own(regex.buffer, 1, "regcomp");
  check(regexec(&regex, "rank 17", 0, nullptr, 0) == 0 &&
            regexec(&regex, "rank x", 0, nullptr, 0) != 0,
        "regexec");
  regfree(&regex);
  DIR* folder = opendir("/");
  check_own(folder, 1, "opendir");
  check(readdir(folder) != nullptr, "readdir");
  closedir(folder);
  void* root = nullptr;
  char key[] = "a key";
  check_own(tsearch(key, &root, compare), sizeof(void*), "tsearch");
  check(tfind(key, &root, compare) != nullptr && tdelete(key, &root, compare) != nullptr, "tfind");
}

struct OpenedFile : std::filebuf {
  const char* buffer() const { return pbase(); }
};

void use_cxx(const std::string& path) {
  OpenedFile file;
  check(file.open(path, std::ios::out) != nullptr, "filebuf");
  file.sputn("text", 4);
  check_own(file.buffer(), 4, "the buffer of a filebuf");
  MPI_Barrier(MPI_COMM_WORLD);
  check(file.close() != nullptr, "filebuf: close");
  std::ifstream in(path);
  std::string word;
  check((in >> word) && word == "text", "another word");
}

void use_pipe() {
  FILE* pipe = popen("echo a line", "r");
  check_stream(pipe, "popen");
  char line[100];
  check(std::fgets(line, sizeof line, pipe) && !std::strcmp(line, "a line\n"), "a line of a pipe");
  check(pclose(pipe) == 0, "pclose");
}

/// Each rank has keys of its own, and its random numbers and strtok go on where they were.
void use_library_state() {
  pthread_key_t keys[40];
  for (pthread_key_t& key : keys)
    check(pthread_key_create(&key, nullptr) == 0, "pthread_key_create");
  for (int i = 0; i < 40; ++i) pthread_setspecific(keys[i], &keys[i]);
  std::srand(static_cast<unsigned>(g_rank));
  unsigned sum = static_cast<unsigned>(std::rand());
  char words[] = "one two three";
  check(!std::strcmp(std::strtok(words, " "), "one"), "strtok");
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 40; ++i) check(pthread_getspecific(keys[i]) == &keys[i], "another value");
  for (int i = 0; i < 40; i += 2) check(pthread_key_delete(keys[i]) == 0, "pthread_key_delete");
  check(pthread_key_delete(keys[0]) != 0, "a key was deleted twice");
  for (int i = 1; i < 40; i += 2)
    check(pthread_getspecific(keys[i]) == &keys[i], "another value after deletions");
  for (int i = 1; i < 40; i += 2)
    check(pthread_key_delete(keys[i]) == 0, "pthread_key_delete, the rest");
  check(!std::strcmp(std::strtok(nullptr, " "), "two"), "strtok, later");
  sum += static_cast<unsigned>(std::rand());
  std::srand(static_cast<unsigned>(g_rank));
  const auto first = static_cast<unsigned>(std::rand());
  check(first + static_cast<unsigned>(std::rand()) == sum, "other random numbers");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  int start;
  MPIX_Get_collocated_startrank(&start);
  g_index = static_cast<uint32_t>(g_rank - start);
  const char* heap = std::getenv("FGMPI_HEAP");
  g_in_slots = heap && !std::strcmp(heap, "rank");
  if (argc > 1) {
    std::string path = std::string(argv[1]) + "/" + std::to_string(g_rank);
    FILE* left = std::fopen(path.c_str(), "w");
    std::ofstream& stream = *new std::ofstream(path + "-stream");
    std::fprintf(left, "rank %d\n", g_rank);
    stream << "rank " << g_rank << std::endl;
    MPI_Finalize();
    return 0;
  }
  if (g_in_slots)
    check(range_of(memory_of(g_index, 1), argv, (static_cast<size_t>(argc) + 1) * sizeof *argv,
                   "argv")
                  .part == RankMemoryPart::kStack,
          "arguments are elsewhere");
  std::string name =
      "/tmp/fgmpi-streams-" + std::to_string(getpid()) + "-" + std::to_string(g_rank);
  for (int round = 0; round < 2; ++round) {
    use_file(name);
    use_memory();
    use_functions();
    use_cxx(name);
    use_library_state();
  }
  if (g_rank < 4) use_pipe();
  std::remove(name.c_str());
  MPI_Finalize();
  return 0;
}
