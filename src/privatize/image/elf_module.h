// ElfModule: what is needed of a loaded executable or shared library to make images of it.
//
// The data comes from the program headers and the dynamic section in memory, which every loaded
// module has. The file itself is only mapped (for the images) and read for section names (does the
// program have data?). Thread rule: one thread, before the program's constructors run.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/elf_file.h"
#include "base/status.h"

namespace fgmpi::privatize {

/// One PT_LOAD, relative to the load address; page-aligned low and file offset.
struct LoadSegment {
  uintptr_t low = 0;       ///< first byte, rounded down to a page
  uintptr_t file_end = 0;  ///< end of the bytes that come from the file
  uintptr_t high = 0;      ///< end in memory (bss included), not rounded
  uint64_t file_offset = 0;
  uint32_t flags = 0;  ///< PF_R | PF_W | PF_X
};

class ElfModule {
 public:
  /// Reads the module of `map` (a link_map of this process). `path`: the file to map images from.
  Status read(const link_map* map, std::string path, bool executable);

  /// Reads the dynamic section only: enough for for_each_definition() and needed().
  void read_symbols(const link_map* map);
  /// Makes the dynamic linker run no constructor and no destructor of the loaded module; this
  /// object can still run them. Returns false where the module's dynamic section may not be
  /// written. REQUIRES: no constructor of the module has run.
  bool defer_constructors() const;
  /// True where the module cannot be unloaded: DF_1_NODELETE, or symbols of which a process has
  /// one.
  bool never_unloaded() const;

  const std::string& path() const { return path_; }
  std::string name() const;
  bool executable() const { return executable_; }
  uintptr_t base() const { return base_; }
  /// Bytes from base() to the end of the last segment, rounded up to pages.
  size_t span() const { return span_; }
  size_t alignment() const { return alignment_; }
  /// Bytes of the pages in which its segments are mapped: those of the library, or smaller ones for
  /// which its file is laid out.
  size_t page() const { return page_; }
  bool contains(uintptr_t address) const { return address >= base_ && address - base_ < span_; }
  const std::vector<LoadSegment>& segments() const { return segments_; }
  const ElfW(Phdr) * tls() const { return tls_; }
  uintptr_t eh_frame_header() const { return eh_frame_header_; }  ///< relative to base(); 0: none
  bool position_independent() const { return position_independent_; }
  bool text_relocations() const { return text_relocations_; }
  bool read_only_after_relocation(uintptr_t offset) const {
    return offset >= relro_low_ && offset < relro_high_;
  }
  /// True where a segment with this property holds the offset.
  bool is_writable(uintptr_t offset) const { return in_segment(offset, PF_W); }
  bool is_code(uintptr_t offset) const { return in_segment(offset, PF_X); }

  /// Calls f(relocation, symbol name or "", version or "") for each relocation that has an addend.
  void for_each_relocation(
      const std::function<void(const ElfW(Rela) &, const ElfW(Sym) &, const char* name,
                               const char* version)>& f) const;
  /// Calls f(offset) for each packed relative relocation (DT_RELR).
  void for_each_packed_relative(const std::function<void(uintptr_t)>& f) const;
  /// Calls f(symbol, name) for each symbol that the module defines for other modules.
  void for_each_definition(const std::function<void(const ElfW(Sym) &, const char* name)>& f) const;
  /// Names of the libraries that the module needs directly.
  std::vector<std::string> needed() const;
  /// True when the module refers to the symbol without defining it.
  bool imports(const char* name) const;

  /// Run the constructors and destructors of the image of this module that lies at `at` (base() for
  /// the original).
  void run_constructors(uintptr_t at, int argc, char** argv, char** envp) const;
  void run_destructors(uintptr_t at) const;
  /// Makes the dynamic linker skip the original's destructors at the end of the process.
  void disown_destructors() const;

  /// True where the program itself has writable data, beside what is read-only after relocation and
  /// what the compiler's start files bring. Also true where this cannot be found out: without
  /// section headers, and for an executable that was stripped.
  bool has_private_data() const;

 private:
  struct FunctionArray {
    uintptr_t offset = 0;
    size_t count = 0;
  };
  void read_dynamic(const ElfW(Dyn) * dynamic);
  const char* version_of(uint32_t symbol) const;
  bool in_segment(uintptr_t offset, uint32_t flags) const;
  size_t symbol_count() const;
  /// The writable objects of the program that have symbols.
  struct Named {
    size_t bytes = 0;
    bool streams = false;  ///< copies of stdin, stdout or stderr
  };
  bool has_unnamed_data(const ElfFile& file, const Named& named) const;

  std::string path_;
  bool executable_ = false;
  bool position_independent_ = true;
  bool text_relocations_ = false;
  uintptr_t base_ = 0;
  size_t span_ = 0;
  size_t alignment_ = 0;
  size_t page_ = 0;
  std::vector<LoadSegment> segments_;
  const ElfW(Phdr) * tls_ = nullptr;
  uintptr_t eh_frame_header_ = 0;
  uintptr_t relro_low_ = 0, relro_high_ = 0;

  const ElfW(Dyn) * dynamic_ = nullptr;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* strings_ = nullptr;
  const uint32_t* gnu_hash_ = nullptr;
  const uint32_t* hash_ = nullptr;
  const ElfW(Half) * versions_ = nullptr;
  const ElfW(Verneed) * needs_ = nullptr;
  size_t needs_count_ = 0;
  const ElfW(Rela) * rela_ = nullptr;
  size_t rela_count_ = 0;
  const ElfW(Rela) * jump_ = nullptr;
  size_t jump_count_ = 0;
  const uintptr_t* relr_ = nullptr;
  size_t relr_count_ = 0;
  uintptr_t init_ = 0, fini_ = 0;
  FunctionArray preinit_array_, init_array_, fini_array_;
};

}  // namespace fgmpi::privatize
