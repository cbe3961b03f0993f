// The text of fgmpi-info -s and the page docs/settings.md.

#include "info/settings_page.h"

#include "base/counters.h"
#include "base/environment.h"
#include "base/settings.h"
#include "base/strings.h"

namespace fgmpi::tools {
namespace {

using settings::SettingRecord;

struct PageSection {
  const char* title;
  const char* note;  ///< paragraphs that follow the table
};

/// The sections, in the order of settings::Component.
constexpr PageSection kSections[settings::kComponents] = {
    {"How many ranks, and on what", ""},
    {"Ranks in a process", ""},
    {"Messages",
     "\nWhy these: programs that send before they receive count on small messages being buffered, "
     "up to what their MPI buffers.\n"
     "64k is what MPICH buffers in shared memory, so what runs there runs here. Lower values save "
     "memory and a copy and find such\n"
     "programs (`FGMPI_EAGER_LOCAL=0`: every send that finds no receive waits); higher ones spare "
     "waiting where receives come late.\n"
     "The limit on unexpected bytes is for senders that run ahead: half for ranks of the same "
     "process (all of it where the job is\n"
     "one process), half shared out evenly among the other processes; a share that is used up "
     "makes sends wait, nothing fails.\n"},
    {"Between processes", ""},
    {"Communicators and collectives",
     "\nAn algorithm that is set is taken wherever it can do the job; `src/coll/README.md` says "
     "what each does.\n"},
    {"Windows", ""},
    {"Files", ""},
};

std::string allowed_cell(const SettingRecord& r) {
  return r.type == settings::SettingType::kText ? "text" : settings::allowed(r);
}

std::string unit_behind(const SettingRecord& r) {
  const bool worth_it = *r.unit && r.type == settings::SettingType::kNumber;
  return worth_it ? std::string(" ") + r.unit : "";
}

std::string row(const SettingRecord& r) {
  std::string meaning = r.text;
  if (r.scope == settings::Scope::kJob) meaning += "; the same at every process";
  return format("| `%s` | %s%s | %s | %s |\n", r.name, allowed_cell(r).c_str(),
                unit_behind(r).c_str(), *r.fallback ? r.fallback : r.worked_out, meaning.c_str());
}

std::string section(settings::Component component) {
  const PageSection& section = kSections[static_cast<size_t>(component)];
  std::string text =
      format("\n## %s\n| variable | allowed | default | meaning |\n| --- | --- | --- | --- |\n",
             section.title);
  for (const SettingRecord& r : settings::kRecords)
    if (r.component == component) text += row(r);
  return text + section.note;
}

const char* words(counters::CounterKind kind) {
  switch (kind) {
    case counters::CounterKind::kCounter:
      return "only grows";
    case counters::CounterKind::kLevel:
      return "present value";
    case counters::CounterKind::kHighWaterMark:
      return "most so far";
  }
  return "";
}

}  // namespace

std::string list_settings(bool* good) {
  std::string text;
  *good = true;
  for (size_t c = 0; c < settings::kComponents; ++c) {
    text += format("%s\n", kSections[c].title);
    for (const SettingRecord& r : settings::kRecords) {
      if (r.component != static_cast<settings::Component>(c)) continue;
      const char* given = environment::text(r.name);
      std::string value = given ? given : *r.fallback ? r.fallback : r.worked_out;
      if (!value.empty() && (given || *r.fallback)) value += unit_behind(r);
      std::erase(value, '`');
      const Status status = settings::check(r.name, given ? given : "");
      *good &= status.ok();
      text +=
          format("  %-27s %-11s %s\n", r.name, given ? "environment" : "default", value.c_str());
      if (!status.ok()) text += format("  %-27s not allowed %s\n", "", status.what().c_str());
    }
  }
  std::string others;
  for (const environment::VariableRecord& r : environment::kRecords)
    if (const char* given = environment::raw(r.name))
      others += format("  %-27s %-11s %s\n", r.name, "environment", given);
  if (!others.empty()) text += "Variables of others that are heeded and set\n" + others;
  for (const std::string& name : settings::unknown_variables())
    text += format("%s is set, but no setting of this version\n", name.c_str());
  return text;
}

std::string settings_page() {
  std::string text =
      "# Settings\n\n"
      "<!-- Made by scripts/generate-docs from the tables in src/base (settings.def, "
      "environment.def, "
      "counters.def). -->\n\n"
      "Environment variables, read by every process at its start, and by `mpiexec` before it "
      "starts any. A "
      "value that is not allowed\n"
      "is one line that names the variable, its value and what is allowed, and nothing is started; "
      "an empty "
      "one is as none. Sizes\n"
      "take the suffixes k, m and g; `1`, `yes`, `0` and `no` stand for on and off. `fgmpi-info "
      "-s` lists all "
      "with their "
      "present values and where\n"
      "each comes from; under `mpiexec` it shows what a process sees.\n";
  for (size_t c = 0; c < settings::kComponents; ++c)
    text += section(static_cast<settings::Component>(c));
  text +=
      "\n## Variables of others\nThey are heeded as far as said here.\n\n"
      "| variable | set by | what for |\n| --- | --- | --- |\n";
  for (const environment::VariableRecord& r : environment::kRecords)
    text += format("| `%s` | %s | %s |\n", r.name, r.owner, r.text);
  text +=
      "\n## Counters\nWhat the library counts about itself; `MPIX_Stats` reads some of them.\n\n"
      "| counter | of a | unit | | what it counts |\n| --- | --- | --- | --- | --- |\n";
  for (const counters::CounterRecord& r : counters::kRecords)
    text += format("| `%s` | %s | %s | %s | %s |\n", r.name,
                   r.scope == counters::CounterScope::kProcess ? "process" : "communicator", r.unit,
                   words(r.kind), r.text);
  return text;
}

}  // namespace fgmpi::tools
