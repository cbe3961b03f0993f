// ElfView and ElfFile: the contents of an ELF file (a program, a library) of this machine's word
// size: its segments, sections, symbols and the libraries that it needs.
//
//   | header | segments (program headers) | ... | sections (section headers) |
//
// Every read is checked against the file's size: a damaged file has no segments, sections or
// symbols. Nothing here allocates, so it may be used in a signal handler. Thread rule: any thread.
// Modules that the dynamic linker has loaded are read in memory: base/modules.h.
#pragma once

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/processor.h"

namespace fgmpi {

/// The bytes of an ELF file in memory that the caller owns.
class ElfView {
 public:
  ElfView() = default;
  ElfView(const char* bytes, size_t size) : bytes_(bytes), size_(size) {}

  /// The `count` structures at this offset; nullptr where they reach beyond the end or are
  /// misaligned.
  template <class T>
  const T* at(uint64_t offset, uint64_t count = 1) const {
    if (offset > size_ || count > (size_ - offset) / sizeof(T) || offset % alignof(T) != 0)
      return nullptr;
    return reinterpret_cast<const T*>(bytes_ + offset);
  }

  /// The header; nullptr where the bytes are no ELF file. A file for another word size has only
  /// e_ident, e_type and e_machine in these places.
  const ElfW(Ehdr) * header() const {
    const auto* header = at<ElfW(Ehdr)>(0);
    return header && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 ? header : nullptr;
  }
  /// Is the file for this machine's processor and word size?
  bool is_native() const {
    const auto* h = header();
    return h && h->e_ident[EI_CLASS] == ELFCLASS64 && h->e_machine == processor::kElfMachine;
  }

  /// Calls f(segment) for each program header.
  template <class F>
  void for_each_segment(F&& f) const {
    const auto* h = header();
    if (!h || h->e_phentsize != sizeof(ElfW(Phdr))) return;
    const auto* segments = at<ElfW(Phdr)>(h->e_phoff, h->e_phnum);
    for (size_t i = 0; segments && i < h->e_phnum; ++i) f(segments[i]);
  }

  /// Calls f(section, name) for each section.
  template <class F>
  void for_each_section(F&& f) const {
    const auto* h = header();
    const ElfW(Shdr)* names = h ? section(h->e_shstrndx) : nullptr;
    const char* strings = names ? strings_of(*names) : nullptr;
    if (!strings) return;
    for (size_t i = 1; const ElfW(Shdr)* s = section(i); ++i)
      if (s->sh_name < names->sh_size) f(*s, strings + s->sh_name);
  }

  /// Calls f(symbol, name) for each entry of .symtab, or of .dynsym where there is no .symtab.
  template <class F>
  void for_each_symbol(F&& f) const {
    const ElfW(Shdr)* table = section_of_type(SHT_SYMTAB);
    for_each_symbol_in(table ? table : section_of_type(SHT_DYNSYM), f);
  }

  /// The function that holds `offset` (relative to the load address), or nullptr; valid while the
  /// bytes are.
  const char* function_at(uintptr_t offset, uintptr_t* start) const {
    const char* best = nullptr;
    for_each_symbol([&](const ElfW(Sym) & symbol, const char* name) {
      if ((symbol.st_info & 15) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) return;
      if (offset < symbol.st_value || offset - symbol.st_value >= symbol.st_size) return;
      best = name;
      *start = symbol.st_value;
    });
    return best;
  }

  /// The value of the exported symbol of that name: its address relative to the load address; 0
  /// where the file exports none.
  uint64_t exported_symbol(const char* wanted) const {
    uint64_t value = 0;
    for_each_symbol_in(section_of_type(SHT_DYNSYM),
                       [&](const ElfW(Sym) & symbol, const char* name) {
                         if (value == 0 && strcmp(name, wanted) == 0) value = symbol.st_value;
                       });
    return value;
  }

  /// Calls f(name) for each library that the file needs, by the file's dynamic section.
  template <class F>
  void for_each_needed(F&& f) const {
    size_t count = 0;
    const ElfW(Dyn)* entries = nullptr;
    for_each_segment([&](const ElfW(Phdr) & segment) {
      if (segment.p_type != PT_DYNAMIC || entries) return;
      count = segment.p_filesz / sizeof(ElfW(Dyn));
      entries = at<ElfW(Dyn)>(segment.p_offset, count);
    });
    if (!entries) return;
    uint64_t strings = 0;
    for (size_t i = 0; i < count; ++i)
      if (entries[i].d_tag == DT_STRTAB) strings = offset_of_address(entries[i].d_un.d_ptr);
    if (!strings) return;
    for (size_t i = 0; i < count; ++i) {
      const uint64_t name = strings + entries[i].d_un.d_val;
      if (entries[i].d_tag == DT_NEEDED && name < size_)
        f(std::string_view(bytes_ + name, strnlen(bytes_ + name, size_ - name)));
    }
  }

 protected:
  const char* bytes_ = nullptr;
  size_t size_ = 0;

 private:
  const ElfW(Shdr) * section(size_t index) const {
    const auto* h = header();
    if (!h || h->e_shentsize != sizeof(ElfW(Shdr)) || index >= h->e_shnum) return nullptr;
    const auto* sections = at<ElfW(Shdr)>(h->e_shoff, h->e_shnum);
    return sections ? sections + index : nullptr;
  }
  const ElfW(Shdr) * section_of_type(uint32_t type) const {
    for (size_t i = 0;; ++i) {
      const ElfW(Shdr)* s = section(i);
      if (!s || s->sh_type == type) return s;
    }
  }
  /// The strings of a section, whose last byte is 0; nullptr where it has none.
  const char* strings_of(const ElfW(Shdr) & section) const {
    const char* strings = at<char>(section.sh_offset, section.sh_size);
    const bool whole = strings && section.sh_size != 0 && strings[section.sh_size - 1] == 0;
    return whole ? strings : nullptr;
  }
  template <class F>
  void for_each_symbol_in(const ElfW(Shdr) * table, F&& f) const {
    const ElfW(Shdr)* names = table ? section(table->sh_link) : nullptr;
    const char* strings = names ? strings_of(*names) : nullptr;
    const size_t count = table ? table->sh_size / sizeof(ElfW(Sym)) : 0;
    const auto* symbols = strings ? at<ElfW(Sym)>(table->sh_offset, count) : nullptr;
    for (size_t i = 1; symbols && i < count; ++i)
      if (symbols[i].st_name < names->sh_size) f(symbols[i], strings + symbols[i].st_name);
  }
  /// Where in the file the bytes of this address are; 0 where no segment has them.
  uint64_t offset_of_address(uint64_t address) const {
    uint64_t offset = 0;
    for_each_segment([&](const ElfW(Phdr) & s) {
      if (s.p_type == PT_LOAD && address - s.p_vaddr < s.p_filesz)
        offset = s.p_offset + (address - s.p_vaddr);
    });
    return offset;
  }
};

/// A file that is mapped as long as this object lives.
class ElfFile : public ElfView {
 public:
  ElfFile() = default;
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;
  ~ElfFile() {
    if (bytes_) munmap(const_cast<char*>(bytes_), size_);
  }

  /// Returns false where there is no ELF file of that name. REQUIRES: no file has been opened.
  bool open(const char* path) {
    int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    struct stat info {};
    void* map = MAP_FAILED;
    if (fstat(fd, &info) == 0 && static_cast<size_t>(info.st_size) >= sizeof(ElfW(Ehdr)))
      map = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (map == MAP_FAILED) return false;
    bytes_ = static_cast<const char*>(map);
    size_ = static_cast<size_t>(info.st_size);
    return header() != nullptr;
  }
};

}  // namespace fgmpi
