// FGMPI_LEAKS=1: lists the objects that the program has not freed, by kind and creating call.

#include <cstdio>
#include <map>
#include <string>

#include "base/assert.h"
#include "base/count_words.h"
#include "base/settings.h"
#include "pt2pt/engine.h"

namespace fgmpi::pt2pt {

bool leaks_wanted() { return settings::on(settings::kLeaks); }

void report_leaks() {
  if (!leaks_wanted()) return;
  std::map<std::string, uint64_t> requests;
  for_each_request(
      [](Request* r, void* list) {
        std::string kind = !r->persistent ? "request"
                           : r->active    ? "active persistent request"
                                          : "persistent request";
        ++(*static_cast<std::map<std::string, uint64_t>*>(list))[kind + " of " + r->call];
      },
      &requests);
  for (const auto& [kind, count] : requests)
    fprintf(stderr, "fgmpi: leaked in process %u: %llu x %s\n", g_engine.me(),
            static_cast<unsigned long long>(count), kind.c_str());
  uint64_t messages = 0, bytes = 0, receives = 0;
  g_engine.endpoints.for_each([&](const Endpoint* at, uint32_t) {
    for (Arrived* a = at->unexpected.front(); a; a = a->next) {
      ++messages;
      bytes += static_cast<UnexpectedMessage*>(a)->size;
    }
    receives += at->posted.size();
  });
  if (messages)
    fprintf(stderr, "fgmpi: leaked in process %u: %llu x message never received (%s)\n",
            g_engine.me(), static_cast<unsigned long long>(messages),
            count_words(bytes, "byte").c_str());
  if (receives)
    fprintf(stderr, "fgmpi: leaked in process %u: %llu x receive never matched\n", g_engine.me(),
            static_cast<unsigned long long>(receives));
}

}  // namespace fgmpi::pt2pt
