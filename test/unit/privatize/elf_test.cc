// Compares modules with the dynamic linker's data about this program.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <string.h>

#include "base/modules.h"
#include "base/relocation_kind.h"
#include "privatize/image/elf_module.h"
#include "privatize/image/images.h"

int unit_test_global = 12;  // a test finds it in the symbol table
thread_local int unit_test_thread_local = 3;
extern "C" [[gnu::noinline]] int unit_test_function(int x) {
  asm volatile("");
  return x + unit_test_global + unit_test_thread_local;
}

namespace fgmpi::privatize {
namespace {

ElfModule this_program() {
  ElfModule module;
  Status status = module.read(loaded_modules().front(), "/proc/self/exe", true);
  EXPECT_TRUE(status.ok()) << status.what();
  return module;
}

TEST(ElfModule, DescribesThisProgram) {
  ElfModule module = this_program();
  EXPECT_TRUE(module.contains(reinterpret_cast<uintptr_t>(&unit_test_global)));
  EXPECT_TRUE(module.contains(reinterpret_cast<uintptr_t>(&unit_test_function)));
  EXPECT_FALSE(module.contains(reinterpret_cast<uintptr_t>(&module)));
  EXPECT_FALSE(module.contains(reinterpret_cast<uintptr_t>(dlsym(RTLD_DEFAULT, "qsort"))));
  EXPECT_TRUE(module.has_private_data());
  ASSERT_NE(module.tls(), nullptr);
  EXPECT_NE(module.eh_frame_header(), 0u);
  EXPECT_FALSE(module.needed().empty());
  EXPECT_TRUE(module.imports("getpid") || module.imports("strlen") || module.imports("memcpy"));
  EXPECT_FALSE(module.imports("no_such_symbol_anywhere"));
  EXPECT_FALSE(module.text_relocations());
  uintptr_t end = 0;
  for (const LoadSegment& s : module.segments()) {
    EXPECT_GE(s.low, end & ~uintptr_t{4095});
    EXPECT_LE(s.file_end, s.high);
    end = s.high;
  }
  EXPECT_LE(end, module.span());
}

// Every word that a relative relocation names points into the module it belongs to.
TEST(ElfModule, RelativeRelocationsPointIntoTheModule) {
  ElfModule module = this_program();
  if (!module.position_independent()) GTEST_SKIP() << "this program is not position-independent";
  int relative = 0;
  module.for_each_relocation([&](const ElfW(Rela) & r, const ElfW(Sym)&, const char*, const char*) {
    if (relocation_kind(r) != RelocationKind::kRelative) return;
    ++relative;
    EXPECT_LE(static_cast<uintptr_t>(r.r_addend), module.span());
    EXPECT_LT(r.r_offset, module.span());
  });
  EXPECT_GT(relative, 10);
}

class ImagesOfLayout : public ::testing::TestWithParam<ImageLayout> {};
INSTANTIATE_TEST_SUITE_P(All, ImagesOfLayout,
                         ::testing::Values(ImageLayout::kProtected, ImageLayout::kJoined,
                                           ImageLayout::kCopied),
                         [](const auto& info) { return std::string(name_of(info.param)); });

// Images of this test program: arithmetic there and back, private data, shared code.
TEST_P(ImagesOfLayout, CopiesHaveTheirOwnData) {
#ifdef FGMPI_SANITIZE
  GTEST_SKIP() << "an image is a copy of the data segment as bytes, red zones of globals included: "
                  "ASan refuses";
#endif
  Images images;
  ASSERT_TRUE(images.read_modules({}).ok());
  if (!images.can_be_imaged().ok()) GTEST_SKIP() << images.can_be_imaged().what();
  constexpr uint32_t kCount = 5;
  Status status = images.prepare(kCount, GetParam());
  ASSERT_TRUE(status.ok()) << status.what();
  EXPECT_EQ(images.layout(), GetParam());
  images.record_copied_objects();
  EXPECT_GE(images.cost_of_image(ImageLayout::kProtected).mappings, 2u);
  EXPECT_EQ(images.cost_of_image(ImageLayout::kJoined).mappings, 1u);
  EXPECT_EQ(images.cost_of_image(ImageLayout::kCopied).mappings, 0u);
  auto original = reinterpret_cast<uintptr_t>(&unit_test_global);
  unit_test_global = 99;  // images start from the file, not from here
  for (uint32_t k : {3u, 1u, 4u, 2u}) {
    ASSERT_TRUE(images.make(k).ok());
    uintptr_t moved = images.move_to(original, k);
    EXPECT_NE(moved, original);
    EXPECT_EQ(*reinterpret_cast<int*>(moved), 12);
    *reinterpret_cast<int*>(moved) = static_cast<int>(k);
    Images::ImageLocation where;
    ASSERT_TRUE(images.locate(moved, &where));
    EXPECT_EQ(where.image, k);
    EXPECT_EQ(where.module, 0u);
    EXPECT_EQ(where.offset, original - images.program().base());
  }
  EXPECT_EQ(unit_test_global, 99);
  for (uint32_t k = 1; k < kCount; ++k) {
    EXPECT_EQ(*reinterpret_cast<int*>(images.move_to(original, k)), static_cast<int>(k));
    auto* function = reinterpret_cast<int (*)(int)>(
        images.move_to(reinterpret_cast<uintptr_t>(&unit_test_function), k));
    EXPECT_EQ(function(10), 10 + static_cast<int>(k) + unit_test_thread_local);
  }
  Images::ImageLocation where;
  EXPECT_FALSE(images.locate(reinterpret_cast<uintptr_t>(&images), &where));
  unit_test_global = 12;
}

TEST(Images, TooManySaysHowManyWouldFit) {
#ifdef FGMPI_SANITIZE
  GTEST_SKIP() << "an image is a copy of the data segment as bytes, red zones of globals included: "
                  "ASan refuses";
#endif
  Images images;
  ASSERT_TRUE(images.read_modules({}).ok());
  if (!images.can_be_imaged().ok()) GTEST_SKIP() << images.can_be_imaged().what();
  Status status = images.prepare(1u << 20);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.what().find("would fit"), std::string::npos) << status.what();
  EXPECT_NE(status.what().find("vm.max_map_count"), std::string::npos) << status.what();
}

}  // namespace
}  // namespace fgmpi::privatize
