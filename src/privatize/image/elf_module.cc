// Reading of a loaded module: headers, symbols, relocations.

#include "privatize/image/elf_module.h"

#include <mpi.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/modules.h"
#include "base/page.h"
#include "base/process_memory.h"

namespace fgmpi::privatize {
namespace {

#ifndef DT_RELR
constexpr int DT_RELR = 36, DT_RELRSZ = 35;
#endif

std::span<const ElfW(Phdr)> segments_at(uintptr_t base) {
  std::span<const ElfW(Phdr)> segments;
  find_loaded_module([&](const dl_phdr_info& module) {
    if (module.dlpi_addr != base) return false;
    segments = segments_of(module);
    return true;
  });
  return segments;
}

}  // namespace

std::string ElfModule::name() const { return path_.substr(path_.rfind('/') + 1); }

Status ElfModule::read(const link_map* map, std::string path, bool executable) {
  path_ = std::move(path);
  executable_ = executable;
  base_ = map->l_addr;
  position_independent_ = !executable || base_ != 0;
  const auto segments = executable ? segments_of_program() : segments_at(base_);
  if (!segments.data())
    return error(MPI_ERR_OTHER, "no program headers of %s in memory", path_.c_str());
  page_ = alignment_ = page_bytes();
  for (const ElfW(Phdr) & h : segments)
    if (h.p_type == PT_LOAD) page_ = std::min<size_t>(page_, h.p_align);
  page_ = std::max(page_, machine_page_bytes());
  for (const ElfW(Phdr) & h : segments) {
    if (h.p_type == PT_TLS && h.p_memsz) tls_ = &h;
    if (h.p_type == PT_GNU_EH_FRAME) eh_frame_header_ = h.p_vaddr;
    if (h.p_type == PT_GNU_RELRO) {
      relro_low_ = h.p_vaddr;
      relro_high_ = h.p_vaddr + h.p_memsz;
    }
    if (h.p_type != PT_LOAD) continue;
    uintptr_t skew = h.p_vaddr % page_;
    segments_.push_back({h.p_vaddr - skew, h.p_vaddr + h.p_filesz, h.p_vaddr + h.p_memsz,
                         h.p_offset - skew, h.p_flags});
    alignment_ = std::max<size_t>(alignment_, h.p_align);
    span_ = std::max<size_t>(span_, page_up(h.p_vaddr + h.p_memsz, page_));
  }
  read_dynamic(map->l_ld);
  return Status();
}

void ElfModule::read_dynamic(const ElfW(Dyn) * dynamic) {
  dynamic_ = dynamic;
  for (const ElfW(Dyn)* d = dynamic; d->d_tag != DT_NULL; ++d) {
    // The dynamic linker has added the load address to most, but not to all, pointers in the
    // dynamic section.
    uintptr_t value = d->d_un.d_val;
    uintptr_t address = value >= base_ ? value : value + base_;
    uintptr_t offset = address - base_;
    switch (d->d_tag) {
      case DT_SYMTAB:
        symbols_ = reinterpret_cast<const ElfW(Sym)*>(address);
        break;
      case DT_STRTAB:
        strings_ = reinterpret_cast<const char*>(address);
        break;
      case DT_GNU_HASH:
        gnu_hash_ = reinterpret_cast<const uint32_t*>(address);
        break;
      case DT_HASH:
        hash_ = reinterpret_cast<const uint32_t*>(address);
        break;
      case DT_VERSYM:
        versions_ = reinterpret_cast<const ElfW(Half)*>(address);
        break;
      case DT_VERNEED:
        needs_ = reinterpret_cast<const ElfW(Verneed)*>(address);
        break;
      case DT_VERNEEDNUM:
        needs_count_ = value;
        break;
      case DT_RELA:
        rela_ = reinterpret_cast<const ElfW(Rela)*>(address);
        break;
      case DT_RELASZ:
        rela_count_ = value / sizeof(ElfW(Rela));
        break;
      case DT_JMPREL:
        jump_ = reinterpret_cast<const ElfW(Rela)*>(address);
        break;
      case DT_PLTRELSZ:
        jump_count_ = value / sizeof(ElfW(Rela));
        break;
      case DT_RELR:
        relr_ = reinterpret_cast<const uintptr_t*>(address);
        break;
      case DT_RELRSZ:
        relr_count_ = value / sizeof(uintptr_t);
        break;
      case DT_INIT:
        init_ = offset;
        break;
      case DT_FINI:
        fini_ = offset;
        break;
      case DT_PREINIT_ARRAY:
        preinit_array_.offset = offset;
        break;
      case DT_PREINIT_ARRAYSZ:
        preinit_array_.count = value / sizeof(void*);
        break;
      case DT_INIT_ARRAY:
        init_array_.offset = offset;
        break;
      case DT_INIT_ARRAYSZ:
        init_array_.count = value / sizeof(void*);
        break;
      case DT_FINI_ARRAY:
        fini_array_.offset = offset;
        break;
      case DT_FINI_ARRAYSZ:
        fini_array_.count = value / sizeof(void*);
        break;
      case DT_TEXTREL:
        text_relocations_ = true;
        break;
      case DT_FLAGS:
        text_relocations_ |= (value & DF_TEXTREL) != 0;
        break;
      default:
        break;
    }
  }
}

const char* ElfModule::version_of(uint32_t symbol) const {
  if (!versions_) return "";
  uint32_t wanted = versions_[symbol] & 0x7fff;
  auto* need = reinterpret_cast<const char*>(needs_);
  for (size_t i = 0; i < needs_count_; ++i) {
    auto* n = reinterpret_cast<const ElfW(Verneed)*>(need);
    const char* aux = need + n->vn_aux;
    for (size_t k = 0; k < n->vn_cnt; ++k) {
      auto* a = reinterpret_cast<const ElfW(Vernaux)*>(aux);
      if (a->vna_other == wanted) return strings_ + a->vna_name;
      aux += a->vna_next;
    }
    need += n->vn_next;
  }
  return "";
}

void ElfModule::for_each_relocation(const std::function<void(const ElfW(Rela) &, const ElfW(Sym) &,
                                                             const char*, const char*)>& f) const {
  static const ElfW(Sym) kNone{};
  auto visit = [&](const ElfW(Rela) * list, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      uint32_t symbol = static_cast<uint32_t>(ELF64_R_SYM(list[i].r_info));
      if (symbol == 0) {
        f(list[i], kNone, "", "");
      } else {
        f(list[i], symbols_[symbol], strings_ + symbols_[symbol].st_name, version_of(symbol));
      }
    }
  };
  visit(rela_, rela_count_);
  // Some linkers put the table of jump slots inside the first one, where it has been visited.
  bool inside = jump_ >= rela_ && jump_ < rela_ + rela_count_;
  if (!inside) visit(jump_, jump_count_);
}

void ElfModule::for_each_packed_relative(const std::function<void(uintptr_t)>& f) const {
  uintptr_t next = 0;
  for (size_t i = 0; i < relr_count_; ++i) {
    uintptr_t entry = relr_[i];
    if ((entry & 1) == 0) {
      f(entry);
      next = entry + sizeof(uintptr_t);
      continue;
    }
    for (int bit = 0; bit < 63; ++bit)
      if (entry >> (bit + 1) & 1) f(next + static_cast<uintptr_t>(bit) * sizeof(uintptr_t));
    next += 63 * sizeof(uintptr_t);
  }
}

bool ElfModule::in_segment(uintptr_t offset, uint32_t flags) const {
  return std::any_of(segments_.begin(), segments_.end(), [&](const LoadSegment& s) {
    return (s.flags & flags) && offset >= s.low && offset < s.high;
  });
}

/// The number of symbols follows only from the hash tables. The GNU table covers the defined
/// symbols: its last chain ends at the last of them.
size_t ElfModule::symbol_count() const {
  if (hash_) return hash_[1];
  if (!gnu_hash_) return 0;
  const uint32_t buckets = gnu_hash_[0], first = gnu_hash_[1], filter_words = gnu_hash_[2];
  const uint32_t* bucket = gnu_hash_ + 4 + filter_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const uint32_t* chain = bucket + buckets;
  uint32_t last = buckets ? *std::max_element(bucket, bucket + buckets) : 0;
  if (last < first) return first;
  while (!(chain[last - first] & 1)) ++last;
  return last + 1;
}

void ElfModule::for_each_definition(
    const std::function<void(const ElfW(Sym) &, const char*)>& f) const {
  const size_t count = symbol_count();
  for (size_t i = 1; i < count; ++i) {
    const ElfW(Sym)& symbol = symbols_[i];
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_info >> 4 == STB_LOCAL) continue;
    f(symbol, strings_ + symbol.st_name);
  }
}

std::vector<std::string> ElfModule::needed() const {
  std::vector<std::string> names;
  for (const ElfW(Dyn)* d = dynamic_; d->d_tag != DT_NULL; ++d)
    if (d->d_tag == DT_NEEDED) names.push_back(strings_ + d->d_un.d_val);
  return names;
}

bool ElfModule::imports(const char* name) const {
  bool found = false;
  for_each_relocation([&](const ElfW(Rela)&, const ElfW(Sym)&, const char* symbol, const char*) {
    found = found || strcmp(symbol, name) == 0;
  });
  return found;
}

void ElfModule::run_constructors(uintptr_t at, int argc, char** argv, char** envp) const {
  using Function = void(int, char**, char**);
  auto run = [&](const FunctionArray& array) {
    auto* functions = reinterpret_cast<Function**>(at + array.offset);
    for (size_t i = 0; i < array.count; ++i) functions[i](argc, argv, envp);
  };
  run(preinit_array_);
  if (init_) reinterpret_cast<Function*>(at + init_)(argc, argv, envp);
  run(init_array_);
}

void ElfModule::run_destructors(uintptr_t at) const {
  auto* functions = reinterpret_cast<void (**)()>(at + fini_array_.offset);
  for (size_t i = fini_array_.count; i-- > 0;) functions[i]();
  if (fini_) reinterpret_cast<void (*)()>(at + fini_)();
}

void ElfModule::read_symbols(const link_map* map) {
  base_ = map->l_addr;
  read_dynamic(map->l_ld);
}

namespace {

void do_nothing() {}

/// Makes memory writable while it exists, if the dynamic linker has made it read-only already. From
/// glibc 2.41 on it has relocated a module before others learn of it.
class WritableWhile {
 public:
  WritableWhile(const void* data, size_t bytes)
      : low_(page_down(reinterpret_cast<uintptr_t>(data), machine_page_bytes())),
        bytes_(page_up(reinterpret_cast<uintptr_t>(data) + bytes, machine_page_bytes()) - low_) {
    // The kernel copies a byte of each page to itself, which fails where it may not be written.
    const ProcessMemory self(getpid());
    for (uintptr_t page = low_; page < low_ + bytes_; page += machine_page_bytes()) {
      iovec from{reinterpret_cast<void*>(page), 1}, to = from;
      MemoryPieces piece{&from, &to, 1};
      if (self.move(ProcessMemory::Move::kWrite, &piece)) continue;
      read_only_ = errno == EFAULT;
      writable_ = mprotect(reinterpret_cast<void*>(low_), bytes_, PROT_READ | PROT_WRITE) == 0;
      return;
    }
  }
  WritableWhile(const WritableWhile&) = delete;
  WritableWhile& operator=(const WritableWhile&) = delete;
  ~WritableWhile() {
    if (read_only_ && writable_) mprotect(reinterpret_cast<void*>(low_), bytes_, PROT_READ);
  }
  explicit operator bool() const { return writable_; }

 private:
  uintptr_t low_;
  size_t bytes_;
  bool writable_ = true;
  bool read_only_ = false;  ///< it was; otherwise the kernel does not tell
};

}  // namespace

bool ElfModule::defer_constructors() const {
  if (!is_writable(reinterpret_cast<uintptr_t>(dynamic_) - base_)) return false;
  const ElfW(Dyn)* end = dynamic_;
  while (end->d_tag != DT_NULL) ++end;
  const WritableWhile writable(
      dynamic_, reinterpret_cast<uintptr_t>(end + 1) - reinterpret_cast<uintptr_t>(dynamic_));
  if (!writable) return false;
  const uintptr_t nothing = reinterpret_cast<uintptr_t>(&do_nothing) - base_;
  for (auto* d = const_cast<ElfW(Dyn)*>(dynamic_); d->d_tag != DT_NULL; ++d) {
    if (d->d_tag == DT_INIT || d->d_tag == DT_FINI) d->d_un.d_ptr = nothing;
    if (d->d_tag == DT_INIT_ARRAYSZ || d->d_tag == DT_FINI_ARRAYSZ) d->d_un.d_val = 0;
  }
  return true;
}

bool ElfModule::never_unloaded() const {
  bool stays = false;
  for (const ElfW(Dyn)* d = dynamic_; d->d_tag != DT_NULL; ++d)
    stays |= d->d_tag == DT_FLAGS_1 && (d->d_un.d_val & DF_1_NODELETE);
  for_each_definition([&](const ElfW(Sym) & symbol, const char*) {
    stays |= symbol.st_info >> 4 == STB_GNU_UNIQUE;
  });
  return stays;
}

void ElfModule::disown_destructors() const {
  for (const ElfW(Dyn)* d = dynamic_; d->d_tag != DT_NULL; ++d) {
    if (d->d_tag != DT_FINI_ARRAYSZ) continue;
    const WritableWhile writable(d, sizeof *d);
    if (!writable) return;
    const_cast<ElfW(Dyn)*>(d)->d_un.d_val = 0;
  }
}

/// True if the module has data without symbols (of objects that were stripped before they were
/// linked): its writable sections are larger than the named objects, or .bss is aligned although no
/// object of the start files needs that.
bool ElfModule::has_unnamed_data(const ElfFile& file, const Named& named) const {
  size_t bytes = 0;
  bool any = false, aligned = false;
  file.for_each_section([&](const ElfW(Shdr) & section, const char* name) {
    any = true;
    constexpr uint64_t kWritable = SHF_ALLOC | SHF_WRITE;
    if ((section.sh_flags & kWritable) != kWritable || strcmp(name, ".got.plt") == 0) return;
    if (read_only_after_relocation(section.sh_addr)) return;
    // In a library, __dso_handle fills 8 bytes of .data; completed.0 and padding fill 8 bytes
    // of .bss.
    const bool of_start_files = strcmp(name, ".data") == 0 || strcmp(name, ".bss") == 0;
    if (!executable_ && of_start_files)
      bytes += section.sh_size - std::min<size_t>(section.sh_size, 8);
    else
      bytes += section.sh_size;
    aligned |= section.sh_type == SHT_NOBITS && section.sh_addralign > 1 && !named.streams;
  });
  // In a program, data_start (4 bytes) and the ends of .data and .bss are padded to 8 bytes each.
  const size_t filled = executable_ ? 24 : 0;
  return !any || aligned || bytes > named.bytes + filled;
}

bool ElfModule::has_private_data() const {
  if (tls_) return true;
  ElfFile file;
  if (!file.open(executable_ ? "/proc/self/exe" : path_.c_str())) return true;
  // The compiler's start files and the linker put these symbols into .data and .bss of
  // every program.
  static const char* const kOfStartFiles[] = {
      "completed.0", "__dso_handle", "__TMC_END__", "__TMC_LIST__", "DW.ref.__gxx_personality_v0",
      "data_start",  "__data_start", "_edata",      "_end",         "__bss_start",
      "stdin",       "stdout",       "stderr"};
  bool has_locals = false, found = false;
  Named named;
  file.for_each_symbol([&](const ElfW(Sym) & symbol, const char* name) {
    uint8_t type = symbol.st_info & 15;
    if (symbol.st_shndx == SHN_UNDEF || (type != STT_OBJECT && type != STT_COMMON)) return;
    if (read_only_after_relocation(symbol.st_value)) return;
    bool writable = std::any_of(segments_.begin(), segments_.end(), [&](const LoadSegment& s) {
      return (s.flags & PF_W) && symbol.st_value >= s.low && symbol.st_value < s.high;
    });
    if (!writable) return;
    // completed.0 is a static variable of the start files: it is missing where local symbols were
    // discarded (strip -x).
    has_locals |= strcmp(name, "completed.0") == 0;
    std::string_view plain(name, strcspn(name, "@"));  // without its version
    named.bytes += symbol.st_size;
    named.streams |= plain.starts_with("std");
    found = found || std::none_of(std::begin(kOfStartFiles), std::end(kOfStartFiles),
                                  [&](const char* known) { return plain == known; });
  });
  // Without local symbols, a static variable of up to 4 bytes would look like padding: such
  // a program counts as having data. A library has less padding for which a variable could
  // be mistaken.
  return found || (executable_ && !has_locals) || has_unnamed_data(file, named);
}

}  // namespace fgmpi::privatize
