// The plan of a module's image: mappings, and words to write.

#include "privatize/image/module_plan.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/modules.h"
#include "base/page.h"
#include "base/relocation_kind.h"
#include "privatize/image/allocator.h"
#include "privatize/libc/openmp_waits.h"
#include "privatize/processor/machine_code.h"

namespace fgmpi::privatize {
namespace {

/// Writable segments up to this many bytes are copied instead of mapped from the file: one mapping
/// less.
constexpr size_t kCopiedSegment = 64 * 1024;

int protection_of(uint32_t flags) {
  return (flags & PF_R ? PROT_READ : 0) | (flags & PF_W ? PROT_WRITE : 0) |
         (flags & PF_X ? PROT_EXEC : 0);
}

}  // namespace

// An interposed function (one of this library, for instance) has no version, and a look-up with the
// version would miss it. So the look-up without version decides which library defines the symbol.
uintptr_t resolve_globally(const char* name, const char* version) {
  void* address = dlsym(RTLD_DEFAULT, name);
  if (address && *version) {
    void* versioned = dlvsym(RTLD_DEFAULT, name, version);
    // Where the same library defines the wanted version, too, that one is used: the first look-up
    // has returned the default version.
    if (versioned && in_same_module(address, versioned)) address = versioned;
  }
  return reinterpret_cast<uintptr_t>(address);
}

ModulePlan::~ModulePlan() {
  if (fd_ >= 0) close(fd_);
}

void ModulePlan::swap(ModulePlan& other) noexcept {
  std::swap(module_, other.module_);
  mappings_.swap(other.mappings_);
  std::swap(words_, other.words_);
  copies_.swap(other.copies_);
  contents_.swap(other.contents_);
  zero_tails_.swap(other.zero_tails_);
  jumps_.swap(other.jumps_);
  std::swap(fd_, other.fd_);
  std::swap(in_file_, other.in_file_);
}

void ModulePlan::plan_mappings(size_t most_copied) {
  const size_t page = module_->page();
  for (const LoadSegment& s : module_->segments()) {
    auto offset = static_cast<int64_t>(s.file_offset);
    if (!(s.flags & PF_W)) {
      // Read-only neighbours whose distance in the file is that in memory become one mapping.
      Mapping* last = mappings_.empty() ? nullptr : &mappings_.back();
      if (last && !(last->protection & PROT_WRITE) && last->file_offset >= 0 &&
          static_cast<int64_t>(s.low - last->low) == offset - last->file_offset) {
        last->high = page_up(s.high, page);
        last->protection |= protection_of(s.flags);
      } else {
        mappings_.push_back({s.low, page_up(s.high, page), offset, protection_of(s.flags)});
      }
      continue;
    }
    if (s.file_end - s.low <= most_copied) {
      mappings_.push_back({s.low, page_up(s.high, page), -1, protection_of(s.flags)});
      contents_.push_back({s.low, std::string(s.file_end - s.low, '\0')});
      continue;
    }
    // The file has no memory behind the kernel's page that holds its end.
    const uintptr_t of_file = page_up(s.file_end, machine_page_bytes());
    mappings_.push_back({s.low, of_file, offset, protection_of(s.flags)});
    if (s.high > s.file_end)
      zero_tails_.push_back({s.file_end, std::min(s.high, of_file) - s.file_end});
    if (page_up(s.high, page) > of_file)
      mappings_.push_back({of_file, page_up(s.high, page), -1, protection_of(s.flags)});
  }
}

/// The bytes of the file that a mapping of the segment holds. A segment that is only read extends
/// to the end of its last page, where openmp_waits.h puts code.
ModuleBytes ModulePlan::read_segment(const LoadSegment& s) const {
  const uintptr_t end = s.flags & PF_W ? s.file_end : page_up(s.file_end, machine_page_bytes());
  ModuleBytes out{s.low, std::string(end - s.low, '\0')};
  for (size_t done = 0; done < out.bytes.size();) {
    ssize_t n = pread(fd_, out.bytes.data() + done, out.bytes.size() - done,
                      static_cast<off_t>(s.file_offset + done));
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  return out;
}

/// Reads the bytes of copied segments from the file and puts the words into them that are the same
/// in all images.
void ModulePlan::fill_contents() {
  for (auto& c : contents_) {
    for (const LoadSegment& s : module_->segments())
      if (s.low == c.offset && (s.flags & PF_W)) c = read_segment(s);
    std::erase_if(words_.fixed, [&](const RelocatedWord& w) {
      if (w.offset < c.offset || w.offset + sizeof w.value > c.offset + c.bytes.size())
        return false;
      memcpy(c.bytes.data() + (w.offset - c.offset), &w.value, sizeof w.value);
      return true;
    });
  }
}

Status ModulePlan::prepare(const ElfModule& module, const std::vector<ModuleRange>& ranges,
                           size_t self, Resolve* resolve, bool in_file) {
  module_ = &module;
  in_file_ = in_file;
  fd_ = open(module.path().c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0)
    return error(MPI_ERR_OTHER, "cannot open %s to make images of it: %s", module.path().c_str(),
                 strerror(errno));
  const std::vector<CodePatch> patches = openmp_waits(module);
  if (!patches.empty()) {
    const int copy = patched_copy(fd_, module, patches);
    if (copy >= 0 && patch_loaded(module, patches))
      close(std::exchange(fd_, copy));
    else if (copy >= 0)
      close(copy);
  }
  plan_mappings(in_file ? ~size_t{0} : kCopiedSegment);
  if (module.executable()) jumps_ = allocator_functions(module);
  Status status;
  module.for_each_relocation([&](const ElfW(Rela) & entry, const ElfW(Sym) & symbol,
                                 const char* name, const char* version) {
    if (!status.ok()) return;
    const char* at = reinterpret_cast<const char*>(module.base() + entry.r_offset);
    Relocation r{entry, symbol.st_shndx != SHN_UNDEF, symbol.st_value, name, version, 0, 0};
    memcpy(&r.word, at, sizeof r.word);
    if (relocation_kind(entry) == RelocationKind::kThreadDescriptor)
      memcpy(&r.second_word, at + sizeof r.word, sizeof r.second_word);
    status = plan_relocation(ranges, ranges[self], r, resolve, &words_);
    if (!status.ok())
      status = error(status.error_class(), "%s: %s", module.path().c_str(), status.what().c_str());
  });
  module.for_each_packed_relative([&](uintptr_t offset) {
    uintptr_t word = 0;
    memcpy(&word, reinterpret_cast<void*>(module.base() + offset), sizeof word);
    words_.add_address(ranges, offset, word);
  });
  fill_contents();
  return status;
}

size_t ModulePlan::mapping_count(size_t size) const {
  size_t count = 0;
  uintptr_t at = 0;
  for (const Mapping& mapping : mappings_) {
    count += 1 + (mapping.low > at);  // a hole stays a mapping of the reserved region
    at = mapping.high;
  }
  return count + (at < size);
}

size_t ModulePlan::written_bytes() const {
  size_t written = 0;
  for (const Mapping& m : mappings_)
    if (m.protection & PROT_WRITE) written += std::min<size_t>(m.high - m.low, kCopiedSegment);
  return written;
}

size_t ModulePlan::copied_bytes() const {
  size_t bytes = 0;
  for (const LoadSegment& s : module_->segments())
    bytes += page_up(s.flags & PF_W ? s.high : s.file_end, module_->page()) - s.low;
  return bytes;
}

Status ModulePlan::map(uintptr_t at) const {
  for (const Mapping& mapping : mappings_) {
    if (in_file_ && mapping.file_offset < 0) continue;  // that memory is there, and stays shared
    int flags =
        MAP_PRIVATE | MAP_FIXED | (mapping.file_offset < 0 ? MAP_ANONYMOUS | MAP_NORESERVE : 0);
    void* result = mmap(reinterpret_cast<void*>(at + mapping.low), mapping.high - mapping.low,
                        mapping.protection, flags, mapping.file_offset < 0 ? -1 : fd_,
                        std::max<int64_t>(mapping.file_offset, 0));
    if (result == MAP_FAILED)
      return error(MPI_ERR_NO_MEM, "cannot map an image of %s: %s", module_->path().c_str(),
                   strerror(errno));
  }
  return Status();
}

void ModulePlan::fill_fixed(uintptr_t address) const {
  char* at = reinterpret_cast<char*>(address);
  for (const auto& c : contents_) memcpy(at + c.offset, c.bytes.data(), c.bytes.size());
  for (const OffsetRange& tail : zero_tails_) memset(at + tail.offset, 0, tail.size);
  for (const RelocatedWord& w : words_.fixed) memcpy(at + w.offset, &w.value, sizeof w.value);
  for (const ModuleBytes& c : copies_) memcpy(at + c.offset, c.bytes.data(), c.bytes.size());
}

void ModulePlan::add_image_bytes(uintptr_t offset, std::vector<ModuleBytes>* parts) const {
  const size_t first = parts->size();
  auto add_word = [&](const RelocatedWord& w) {
    ModuleBytes word{w.offset, std::string(sizeof w.value, '\0')};
    memcpy(word.bytes.data(), &w.value, sizeof w.value);
    parts->push_back(std::move(word));
  };
  for (const LoadSegment& s : module_->segments()) parts->push_back(read_segment(s));
  parts->insert(parts->end(), contents_.begin(), contents_.end());
  for (const RelocatedWord& w : words_.fixed) add_word(w);
  parts->insert(parts->end(), copies_.begin(), copies_.end());
  for (const uintptr_t jump : jumps_) {
    parts->push_back({jump, std::string(processor::kJumpBytes, '\0')});
    machine::write_jump(parts->back().bytes.data(), module_->base() + jump);
  }
  for (size_t i = first; i < parts->size(); ++i) (*parts)[i].offset += offset;
}

/// A whole mapping becomes writable for a moment: making single pages writable would split it.
Status ModulePlan::write_jumps(uintptr_t address) const {
  char* at = reinterpret_cast<char*>(address);
  for (const Mapping& mapping : mappings_) {
    auto inside = [&](uintptr_t offset) { return offset >= mapping.low && offset < mapping.high; };
    if (std::none_of(jumps_.begin(), jumps_.end(), inside)) continue;
    size_t size = mapping.high - mapping.low;
    bool ok = mprotect(at + mapping.low, size, PROT_READ | PROT_WRITE) == 0;
    for (size_t i = 0; ok && i < jumps_.size(); ++i)
      if (inside(jumps_[i])) machine::write_jump(at + jumps_[i], module_->base() + jumps_[i]);
    if (!ok || mprotect(at + mapping.low, size, mapping.protection) != 0)
      return error(
          MPI_ERR_OTHER,
          "the program has an allocator of its own (malloc, operator new), and the system does "
          "not allow to unite those of its images: %s; link the allocator as a shared library",
          strerror(errno));
  }
  return Status();
}

}  // namespace fgmpi::privatize
