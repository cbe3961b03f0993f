// ElfFile: an ELF file mapped for reading its symbol table: for names in crash reports, and to
// check whether a program has data of its own. It allocates nothing and may be used in a signal
// handler. Every read is checked against the file's size: a damaged file yields no symbols.
#pragma once

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace fgmpi {

class ElfFile {
 public:
  ElfFile() = default;
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;
  ~ElfFile() {
    if (bytes_) munmap(const_cast<char*>(bytes_), size_);
  }

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
    return memcmp(bytes_, ELFMAG, SELFMAG) == 0;
  }

  /// Calls f(symbol, name) for each entry of .symtab, or of .dynsym where there is no .symtab.
  template <class F>
  void for_each_symbol(F&& f) const {
    const ElfW(Shdr)* table = section_of_type(SHT_SYMTAB);
    if (!table) table = section_of_type(SHT_DYNSYM);
    const ElfW(Shdr)* strings = table ? section(table->sh_link) : nullptr;
    if (!strings || !inside(table->sh_offset, table->sh_size) ||
        !inside(strings->sh_offset, strings->sh_size) || strings->sh_size == 0 ||
        table->sh_offset % alignof(ElfW(Sym)) != 0 ||
        bytes_[strings->sh_offset + strings->sh_size - 1] != 0)
      return;
    auto* symbols = reinterpret_cast<const ElfW(Sym)*>(bytes_ + table->sh_offset);
    for (size_t i = 1; i < table->sh_size / sizeof(ElfW(Sym)); ++i) {
      if (symbols[i].st_name >= strings->sh_size) continue;
      f(symbols[i], bytes_ + strings->sh_offset + symbols[i].st_name);
    }
  }

  /// Calls f(section, name) for each section.
  template <class F>
  void for_each_section(F&& f) const {
    const ElfW(Shdr)* names =
        bytes_ ? section(reinterpret_cast<const ElfW(Ehdr)*>(bytes_)->e_shstrndx) : nullptr;
    if (!names || !inside(names->sh_offset, names->sh_size) || names->sh_size == 0 ||
        bytes_[names->sh_offset + names->sh_size - 1] != 0)
      return;
    for (size_t i = 1; const ElfW(Shdr)* s = section(i); ++i)
      if (s->sh_name < names->sh_size) f(*s, bytes_ + names->sh_offset + s->sh_name);
  }

  /// The function that holds `offset` (relative to the load address), or nullptr; valid while this
  /// object lives.
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

 private:
  bool inside(uint64_t offset, uint64_t length) const {
    return offset <= size_ && length <= size_ - offset;
  }
  const ElfW(Shdr) * section(size_t index) const {
    auto* header = reinterpret_cast<const ElfW(Ehdr)*>(bytes_);
    if (header->e_shentsize != sizeof(ElfW(Shdr)) || index >= header->e_shnum) return nullptr;
    if (header->e_shoff % alignof(ElfW(Shdr)) != 0) return nullptr;  // damaged
    if (!inside(header->e_shoff, uint64_t{header->e_shnum} * sizeof(ElfW(Shdr)))) return nullptr;
    return reinterpret_cast<const ElfW(Shdr)*>(bytes_ + header->e_shoff) + index;
  }
  const ElfW(Shdr) * section_of_type(uint32_t type) const {
    if (!bytes_) return nullptr;
    for (size_t i = 0;; ++i) {
      const ElfW(Shdr)* s = section(i);
      if (!s || s->sh_type == type) return s;
    }
  }

  const char* bytes_ = nullptr;
  size_t size_ = 0;
};

}  // namespace fgmpi
