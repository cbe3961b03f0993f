// The file of an exploration that can be continued later:
//
//   | kSavedHead | sizeof(Choice) 4 | ranks 4 | words | variables | files |
//   | executions cut 8 | covered 8 | Limit 1 | ChoiceTree | Findings |
//
// The fields are encoded by base/fields.h. Only the build that has written the file reads it.
#include <mpi.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string_view>

#include "base/strings.h"
#include "readers/exploration/session.h"

namespace fgmpi::explore {
namespace {

constexpr std::string_view kSavedHead = "fgmpi-exploration 5\n";

void append_program(Bytes* out, const ExploredProgram& program) {
  append_text(out, kSavedHead);
  fgmpi::append(out, static_cast<uint32_t>(sizeof(Choice)));
  fgmpi::append(out, program.ranks);
  fgmpi::append(out, static_cast<uint32_t>(program.words.size()));
  for (const std::string& word : program.words) append_text(out, word);
  fgmpi::append(out, static_cast<uint32_t>(program.variables.size()));
  for (const auto& [name, value] : program.variables) {
    append_text(out, name);
    append_text(out, value);
  }
  append_text(out, text_of(program.files));
}

bool read_program(FieldReader* in, ExploredProgram* out) {
  if (in->get_text() != kSavedHead || in->get<uint32_t>() != sizeof(Choice)) return false;
  out->ranks = in->get<uint32_t>();
  for (auto n = in->get<uint32_t>(); n > 0 && !in->failed(); --n)
    out->words.emplace_back(in->get_text());
  for (auto n = in->get<uint32_t>(); n > 0 && !in->failed(); --n) {
    std::string name(in->get_text());
    out->variables.emplace_back(std::move(name), std::string(in->get_text()));
  }
  out->files = read_patterns(std::string(in->get_text()));
  return !in->failed() && out->ranks > 0 && !out->words.empty();
}

Bytes read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Status bad_saved(const std::string& path) {
  return error(MPI_ERR_FILE,
               "-resume %s: is no exploration that this version can go on with; allowed is a file "
               "that mpiexec -explore has left",
               path.c_str());
}

}  // namespace

void Explorer::save() const {
  std::vector<NodeRef> begun;
  for (const auto& [number, e] : running_)
    if (!e->pick) begun.push_back(e->path.back());
  Bytes bytes;
  append_program(&bytes, program_);
  fgmpi::append(&bytes, redundant_);
  fgmpi::append(&bytes, covered_);
  fgmpi::append(&bytes, static_cast<uint8_t>(limit_));
  tree_.save(begun, &bytes);
  findings_.save(&bytes);
  const std::string path = name_of_saved(program_);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (out)
    std::fprintf(stderr, "fgmpi: explore: go on with what is left: mpiexec -resume %s\n",
                 path.c_str());
  else
    std::fprintf(stderr, "fgmpi: explore: %s: cannot be written\n", path.c_str());
}

Status Explorer::resume() {
  if (bounds_.resumed.empty()) return {};
  const Bytes bytes = read_bytes(bounds_.resumed);
  FieldReader in(bytes.data(), bytes.size());
  ExploredProgram ignored;
  if (!read_program(&in, &ignored)) return bad_saved(bounds_.resumed);
  redundant_ = in.get<uint64_t>();
  covered_ = in.get<double>();
  limit_ = static_cast<Limit>(in.get<uint8_t>());
  if (!tree_.load(&in) || !findings_.load(&in)) return bad_saved(bounds_.resumed);
  resumed_ = findings_.executions() + redundant_;
  return {};
}

std::string name_of_saved(const ExploredProgram& program) {
  const std::string& name = program.words[0];
  return name.substr(name.rfind('/') + 1) + ".exploration";
}

Status read_saved(const std::string& path, ExploredProgram* out) {
  const Bytes bytes = read_bytes(path);
  FieldReader in(bytes.data(), bytes.size());
  return read_program(&in, out) ? Status() : bad_saved(path);
}

}  // namespace fgmpi::explore
