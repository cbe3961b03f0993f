// Runs a fuzz target without a fuzzer: on the files named, else on random inputs with fixed seeds,
// among them ones that are nearly right (bytes of few values).
//   usage: TARGET [-runs=N] [file...]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  long runs = 20000;
  bool files = false;
  for (int i = 1; i < argc; ++i) {
    if (!std::strncmp(argv[i], "-runs=", 6)) {
      runs = std::atol(argv[i] + 6);
      continue;
    }
    std::ifstream in(argv[i], std::ios::binary);
    std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(in), {}};
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    files = true;
  }
  std::mt19937_64 random(1);
  for (long run = 0; run < runs && !files; ++run) {
    std::vector<uint8_t> bytes(random() % (run % 16 ? 300 : 9000));
    uint64_t values = random() % 3;
    for (uint8_t& b : bytes)
      b = static_cast<uint8_t>(values == 0 ? random() : random() % (values == 1 ? 4 : 40));
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::printf("%s: done\n", argv[0]);
}
