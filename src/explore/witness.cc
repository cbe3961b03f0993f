// Writing and reading the file that repeats an execution.

#include "explore/witness.h"

#include <mpi.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "base/strings.h"

namespace fgmpi::explore {
namespace {

constexpr const char* kFirstLine = "fgmpi-witness 1";
constexpr const char* kKinds[] = {"match",  "probe",  "see",      "done",  "miss",
                                  "repeat", "buffer", "nobuffer", "leave", "access"};

Status bad_line(size_t number, std::string_view line, const char* allowed) {
  return error(MPI_ERR_FILE, "line %zu of the witness is \"%s\"; allowed is %s", number,
               escaped(line).c_str(), allowed);
}

bool parse_choice(const std::string& text, uint32_t* point, Choice* c) {
  char kind[16];
  const int n = std::sscanf(text.c_str(),
                            "%" SCNu32 " %15s rank %" SCNu32 " operation %" SCNu64 " wants %" SCNd32
                            " %" SCNd32 " context %" SCNx64 " source %" SCNd32 " tag %" SCNd32
                            " number %" SCNu32,
                            point, kind, &c->rank, &c->operation, &c->wanted_source, &c->wanted_tag,
                            &c->context, &c->source, &c->tag, &c->number);
  if (n != 10) return false;
  for (size_t i = 0; i < std::size(kKinds); ++i) {
    if (std::string_view(kind) != kKinds[i]) continue;
    c->kind = static_cast<Choice::ChoiceKind>(i);
    return true;
  }
  return false;
}

}  // namespace

std::string words_of(const Choice& c) {
  return format("%s rank %u operation %" PRIu64 " wants %d %d context %" PRIx64
                " source %d tag %d number %u",
                kKinds[c.kind], c.rank, c.operation, c.wanted_source, c.wanted_tag, c.context,
                c.source, c.tag, c.number);
}

size_t index_of_forced(const std::map<uint32_t, Choice>& forced, uint32_t point,
                       const std::vector<Choice>& choices, bool* missing) {
  const auto wanted = forced.find(point);
  if (wanted == forced.end()) return 0;
  const Choice& w = wanted->second;
  for (size_t i = 0; i < choices.size(); ++i)
    if (choices[i].kind == w.kind && choices[i].same_operation(w) && choices[i].same_message(w))
      return i;
  if (missing) *missing = true;
  return 0;
}

std::string Witness::to_text() const {
  std::string text = format("%s\nranks %u\n", kFirstLine, ranks);
  for (const std::string& word : words) text += "word " + word + "\n";
  text += "finding " + escaped(finding) + "\n";
  for (const auto& [point, choice] : choices)
    text += format("choice %u ", point) + words_of(choice) + "\n";
  return text;
}

Status Witness::write(const std::string& path) const {
  for (const std::string& word : words)
    if (word.find('\n') != word.npos)
      return error(MPI_ERR_FILE,
                   "%s: an argument of the program has a line break, which a witness cannot hold",
                   path.c_str());
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << to_text();
  out.close();
  return out ? Status() : error(MPI_ERR_FILE, "%s: the witness cannot be written", path.c_str());
}

Status Witness::parse(std::string_view text, Witness* out) {
  *out = {};
  for (size_t number = 1; !text.empty(); ++number) {
    const std::string line(split_word(&text, '\n'));
    if (number == 1) {
      if (line != kFirstLine) return bad_line(number, line, kFirstLine);
      continue;
    }
    const size_t space = std::min(line.find(' '), line.size());
    const std::string name = line.substr(0, space);
    const std::string rest = line.substr(std::min(space + 1, line.size()));
    if (name == "ranks") {
      const auto n = parse_int(rest);
      if (!n || *n < 1 || *n > 1 << 30) return bad_line(number, line, "ranks and their number");
      out->ranks = static_cast<uint32_t>(*n);
    } else if (name == "word") {
      out->words.push_back(rest);
    } else if (name == "finding") {
      out->finding = rest;
    } else if (name == "choice") {
      uint32_t point = 0;
      Choice choice;
      if (!parse_choice(rest, &point, &choice))
        return bad_line(number, line, "a choice as mpiexec -explore writes it");
      out->choices[point] = choice;
    } else if (!name.empty()) {
      return bad_line(number, line, "ranks, word, finding or choice at its beginning");
    }
  }
  if (out->ranks == 0)
    return error(MPI_ERR_FILE, "the witness does not say how many ranks there are");
  return {};
}

Status Witness::read(const std::string& path, Witness* out) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return error(MPI_ERR_FILE, "%s: cannot be read", path.c_str());
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const Status status = parse(text, out);
  if (status.ok()) return {};
  return error(MPI_ERR_FILE, "%s: %s", path.c_str(), status.what().c_str());
}

}  // namespace fgmpi::explore
