// Reads the note of a module with its identity.
#include "base/build_id.h"

#include <cstdio>
#include <cstring>

namespace fgmpi {

std::string build_id_of(std::span<const ElfW(Phdr)> segments, uintptr_t base) {
  std::string id;
  for (const ElfW(Phdr) & segment : segments) {
    if (segment.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(base + segment.p_vaddr);
    const char* const end = at + segment.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
      const char* name = at + sizeof *note;
      const char* bytes = name + (note->n_namesz + 3) / 4 * 4;
      at = bytes + (note->n_descsz + 3) / 4 * 4;
      if (note->n_type != NT_GNU_BUILD_ID || std::strncmp(name, "GNU", 4) != 0) continue;
      char digits[3];
      for (size_t i = 0; i < note->n_descsz; ++i) {
        std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(bytes[i]));
        id += digits;
      }
    }
  }
  return id;
}

}  // namespace fgmpi
