// Compares planned relocation with a naive dynamic linker, which relocates modules as if each image
// had been loaded at its address. Modules, symbols and relocations of every type are random.
#include "privatize/image/relocation.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "base/relocation_kind.h"

namespace fgmpi::privatize {
namespace {

constexpr uintptr_t kPage = 4096;

/// A symbol at an offset in a module, or outside of all modules, at an address that all images
/// share.
struct Symbol {
  int module;  ///< -1: outside of the private modules
  uintptr_t at;
};

struct Entry {
  RelocationKind kind;
  size_t self;  ///< the module that contains the word
  uintptr_t offset;
  uintptr_t addend;
  size_t symbol;
  bool bound;  ///< jump slots: the dynamic linker has bound it in image 0
  uintptr_t value, second_value;
};

/// The functions that resolve_by_name() finds, global because it is a plain function.
std::map<std::string, uintptr_t> g_functions;
uintptr_t resolve_by_name(const char* name, const char*) {
  auto found = g_functions.find(name);
  return found == g_functions.end() ? 0 : found->second;
}

class Model {
 public:
  explicit Model(uint32_t seed) : random_(seed) {
    uintptr_t low = 0x500000000000, in_image = 0;
    for (size_t m = 0, count = 1 + random_() % 4; m < count; ++m) {
      const size_t span = (1 + random_() % 20) * kPage;
      modules.push_back({low, span, kRegion + in_image});
      in_image += span;
      // The next module sometimes begins where this one ends.
      low += span + (random_() % 3) * kPage;
    }
    stride = in_image + (random_() % 2) * kPage;
    for (int i = 0; i < 30; ++i) {
      const int module = static_cast<int>(random_() % (modules.size() + 1)) - 1;
      symbols.push_back(
          {module, module < 0 ? 0x7f0000000000 + random_() % 100000 : place_in(module)});
    }
    symbols.push_back({-1, 0});  // an undefined weak symbol
    for (size_t m = 0; m < modules.size(); ++m)
      for (uintptr_t offset = 0; offset + 16 <= modules[m].span; offset += 16 + random_() % 400)
        entries.push_back(make_entry(m, offset));
  }

  /// The address of module m in image k.
  uintptr_t base(size_t m, uint32_t k) const {
    return k == 0 ? modules[m].base : modules[m].base_in_image_1 + (k - 1) * stride;
  }
  uintptr_t address(size_t symbol, uint32_t k) const {
    const Symbol& s = symbols[symbol];
    return s.module < 0 ? s.at : base(static_cast<size_t>(s.module), k) + s.at;
  }
  bool defined_in(size_t symbol, size_t module) const {
    return symbols[symbol].module == static_cast<int>(module);
  }

  /// The word that a dynamic linker would write if it had loaded image k.
  uintptr_t relocated(const Entry& e, uint32_t k) const {
    switch (e.kind) {
      case RelocationKind::kRelative:
      case RelocationKind::kIndirect:
        return base(e.self, k) + e.addend;
      case RelocationKind::kAddress:
        return address(e.symbol, k) + e.addend;
      case RelocationKind::kGlobal:
      case RelocationKind::kJumpSlot:
        return address(e.symbol, k);
      default:
        return e.value;
    }
  }

  std::vector<ModuleRange> modules;
  std::vector<Symbol> symbols;
  std::vector<Entry> entries;
  size_t stride = 0;

 private:
  static constexpr uintptr_t kRegion = 0x600000000000;

  uintptr_t place_in(int module) { return random_() % modules[static_cast<size_t>(module)].span; }

  Entry make_entry(size_t self, uintptr_t offset) {
    constexpr RelocationKind kKinds[] = {RelocationKind::kRelative,
                                         RelocationKind::kAddress,
                                         RelocationKind::kGlobal,
                                         RelocationKind::kIndirect,
                                         RelocationKind::kJumpSlot,
                                         RelocationKind::kThreadDescriptor,
                                         RelocationKind::kThreadModule,
                                         RelocationKind::kThreadOffset,
                                         RelocationKind::kThreadPointerOffset};
    Entry e{kKinds[random_() % std::size(kKinds)],
            self,
            offset,
            0,
            random_() % symbols.size(),
            random_() % 2 == 0,
            random_() % 1000,
            random_() % 1000};
    // The addends lead a little before and behind the symbol, and far behind the module's end.
    if (e.kind == RelocationKind::kAddress) e.addend = random_() % 64 - 32;
    if (e.kind == RelocationKind::kRelative) e.addend = random_() % (2 * modules[self].span);
    if (e.kind == RelocationKind::kIndirect) e.addend = place_in(static_cast<int>(self));
    return e;
  }

  std::mt19937_64 random_;
};

/// The word in image 0: the dynamic linker has bound all but some jump slots, which lead to the
/// module's own code.
uintptr_t word_in_image_0(const Model& model, const Entry& e) {
  if (e.kind == RelocationKind::kJumpSlot && !e.bound) return model.base(e.self, 0) + e.offset / 2;
  return model.relocated(e, 0);
}

TEST(Relocation, EveryImageIsAsTheDynamicLinkerWouldHaveMadeIt) {
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    Model model(seed);
    std::vector<RelocationPlan> plans(model.modules.size());
    g_functions.clear();
    for (const Entry& e : model.entries) {
      const std::string name = "symbol" + std::to_string(e.symbol);
      const bool defined = model.defined_in(e.symbol, e.self);
      // The dynamic linker may be unable to find a function that its own module defines, since it
      // may be hidden.
      if (!defined || e.symbol % 2) g_functions[name] = model.address(e.symbol, 0);
      Relocation r{{e.offset, ELF64_R_INFO(e.symbol, relocation_type(e.kind)),
                    static_cast<int64_t>(e.addend)},
                   defined,
                   defined ? model.symbols[e.symbol].at : 0,
                   name.c_str(),
                   "",
                   word_in_image_0(model, e),
                   e.second_value};
      Status status =
          plan_relocation(model.modules, model.modules[e.self], r, resolve_by_name, &plans[e.self]);
      ASSERT_TRUE(status.ok()) << status.what();
    }
    for (uint32_t k : {1u, 2u, 77u}) {
      std::vector<std::map<uintptr_t, uintptr_t>> words(model.modules.size());
      for (size_t m = 0; m < plans.size(); ++m) {
        for (const RelocatedWord& w : plans[m].fixed)
          EXPECT_TRUE(words[m].emplace(w.offset, w.value).second);
        for (const RelocatedWord& w : plans[m].moving)
          EXPECT_TRUE(words[m].emplace(w.offset, w.value + (k - 1) * model.stride).second);
      }
      size_t expected = 0;
      for (const Entry& e : model.entries) {
        auto& of_module = words[e.self];
        ASSERT_EQ(of_module.count(e.offset), 1u)
            << "seed " << seed << " type " << relocation_type(e.kind);
        EXPECT_EQ(of_module[e.offset], model.relocated(e, k))
            << "seed " << seed << " type " << relocation_type(e.kind);
        ++expected;
        if (e.kind != RelocationKind::kThreadDescriptor) continue;
        EXPECT_EQ(of_module[e.offset + 8], e.second_value);
        ++expected;
      }
      size_t planned = 0;
      for (const auto& of_module : words) planned += of_module.size();
      EXPECT_EQ(planned, expected);
    }
  }
}

TEST(Relocation, UnknownTypesAreNamed) {
  std::vector<ModuleRange> modules = {{0x1000, 0x1000, 0x9000}};
  RelocationPlan plan;
  constexpr uint32_t kUnknownType = 2;  // no processor has it among the dynamic ones
  Relocation r{{0x10, ELF64_R_INFO(1, kUnknownType), 0}, false, 0, "some_symbol", "", 0, 0};
  Status status = plan_relocation(modules, modules[0], r, resolve_by_name, &plan);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.what().find("type 2 (symbol 'some_symbol')"), std::string::npos)
      << status.what();
  EXPECT_TRUE(plan.moving.empty() && plan.fixed.empty());
}

TEST(Relocation, CopiedObjectsAreLeftToTheCaller) {
  std::vector<ModuleRange> modules = {{0x1000, 0x1000, 0x9000}};
  RelocationPlan plan;
  for (RelocationKind kind : {RelocationKind::kCopy, RelocationKind::kNone}) {
    Relocation r{
        {0x10, ELF64_R_INFO(1, relocation_type(kind)), 0}, true, 0x20, "stdout", "", 0x1020, 0};
    EXPECT_TRUE(plan_relocation(modules, modules[0], r, resolve_by_name, &plan).ok());
  }
  EXPECT_TRUE(plan.moving.empty() && plan.fixed.empty());
}

}  // namespace
}  // namespace fgmpi::privatize
