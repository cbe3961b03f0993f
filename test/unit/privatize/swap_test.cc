// Compares swapped areas with a naive model. Random images run and write their values; each finds
// the values that it wrote last.
#include "privatize/image/swap.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <vector>

#include "privatize/image/images.h"

// thread_local variables of this program, with and without initial values: their blocks are
// swapped.
thread_local int swap_test_initialised = 41;
thread_local uint64_t swap_test_zero;
thread_local std::array<unsigned char, 5000> swap_test_bytes;
// Each image has this variable at another address.
int swap_test_target = 7;
thread_local int* swap_test_pointer = &swap_test_target;

namespace fgmpi::privatize {
namespace {

uint64_t g_cell = 1234;              ///< a runtime library has such a word once a process
int* g_pointer = &swap_test_target;  ///< a runtime library has such a pointer into the program

/// The values of all swapped areas.
struct Values {
  int initialised;
  uint64_t zero;
  std::array<unsigned char, 5000> bytes;
  int* pointer;
  uint64_t cell;
  int* runtime_pointer;

  static Values in_place() {
    return {swap_test_initialised, swap_test_zero, swap_test_bytes,
            swap_test_pointer,     g_cell,         g_pointer};
  }
  void put() const {
    swap_test_initialised = initialised;
    swap_test_zero = zero;
    swap_test_bytes = bytes;
    swap_test_pointer = pointer;
    g_cell = cell;
    g_pointer = runtime_pointer;
  }
  bool operator==(const Values&) const = default;
};

TEST(Swap, EachImageFindsWhatItWrote) {
#ifdef FGMPI_SANITIZE
  GTEST_SKIP() << "an image is a copy of the data segment as bytes, red zones of globals included: "
                  "ASan refuses";
#endif
  constexpr uint32_t kCount = 7;
  ASSERT_TRUE(g_images.read_modules({}).ok());
  if (!g_images.can_be_imaged().ok()) GTEST_SKIP() << g_images.can_be_imaged().what();
  Status status = g_images.prepare(kCount);
  ASSERT_TRUE(status.ok()) << status.what();
  g_images.record_copied_objects();
  add_areas_of_program();
  add_swapped_area(&g_cell, sizeof g_cell);
  add_swapped_pointer(&g_pointer);
  EXPECT_GE(swapped_bytes(), sizeof(Values) - 2 * sizeof(int));

  // The first image has the present values, which are changed here. Later images begin with the
  // values of the program's file.
  std::vector<Image> images(kCount);
  std::vector<Values> model;
  for (uint32_t k = 0; k < kCount; ++k) {
    if (k) {
      ASSERT_TRUE(g_images.make(k).ok());
    }
    images[k].index = k;
    init_areas(&images[k]);
    auto target = reinterpret_cast<uintptr_t>(&swap_test_target);
    int* own = reinterpret_cast<int*>(g_images.move_to(target, k));
    model.push_back({41, 0, {}, own, 1234, own});
  }
  load_image(&images[0]);
  EXPECT_TRUE(Values::in_place() == model[0]);
  std::mt19937_64 random(5);
  for (int step = 0; step < 5000; ++step) {
    const uint32_t k = static_cast<uint32_t>(random() % kCount);
    load_image(&images[k]);
    ASSERT_TRUE(Values::in_place() == model[k]) << "step " << step << " image " << k;
    Values& mine = model[k];
    switch (random() % 5) {
      case 0:
        mine.initialised = static_cast<int>(random());
        break;
      case 1:
        mine.zero = random();
        break;
      case 2:
        for (int i = 0; i < 10; ++i)
          mine.bytes[random() % mine.bytes.size()] = static_cast<unsigned char>(random());
        break;
      case 3:
        mine.cell = random();
        break;
      default:
        mine.pointer = random() % 2 ? nullptr : mine.runtime_pointer;
    }
    mine.put();
  }
  load_image(&images[0]);
}

}  // namespace
}  // namespace fgmpi::privatize
