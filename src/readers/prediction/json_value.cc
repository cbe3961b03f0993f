// RapidJSON parses; the positions of its events become lines.

#include "readers/prediction/json_value.h"

#include <mpi.h>
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include <algorithm>

namespace fgmpi::predict {
namespace {

using JsonKind = JsonValue::JsonKind;

/// Builds the values from the parser's events. The functions have the names that RapidJSON calls.
class ValueBuilder {
 public:
  ValueBuilder(const std::string& text, const rapidjson::StringStream& stream, JsonValue* root)
      : text_(text), stream_(stream), root_(root) {}

  bool Null() { return add(JsonKind::kNull); }
  bool Bool(bool truth) {
    if (!add(JsonKind::kBool)) return false;
    last_->truth = truth;
    return true;
  }
  bool Int(int n) { return add_number(n); }
  bool Uint(unsigned n) { return add_number(n); }
  bool Int64(int64_t n) { return add_number(static_cast<double>(n)); }
  bool Uint64(uint64_t n) { return add_number(static_cast<double>(n)); }
  bool Double(double n) { return add_number(n); }
  bool RawNumber(const char*, rapidjson::SizeType, bool) { return false; }
  bool String(const char* text, rapidjson::SizeType length, bool) {
    if (!add(JsonKind::kString)) return false;
    last_->text.assign(text, length);
    return true;
  }
  bool StartObject() { return add(JsonKind::kObject) && open(); }
  bool Key(const char* text, rapidjson::SizeType length, bool) {
    key_.assign(text, length);
    return true;
  }
  bool EndObject(rapidjson::SizeType) {
    const auto& members = open_.back()->members;
    for (auto member = members.begin(); member != members.end(); ++member)
      for (auto before = members.begin(); before != member; ++before)
        if (before->first == member->first) {
          repeated_ = member->first;
          repeated_line_ = member->second.line;
          return false;
        }
    return close();
  }
  bool StartArray() { return add(JsonKind::kArray) && open(); }
  bool EndArray(rapidjson::SizeType) { return close(); }

  /// The key that an object has twice, and the line of the second one; 0: none has.
  const std::string& repeated() const { return repeated_; }
  int repeated_line() const { return repeated_line_; }

 private:
  bool add_number(double n) {
    if (!add(JsonKind::kNumber)) return false;
    last_->number = n;
    return true;
  }
  bool add(JsonKind kind) {
    if (open_.empty()) {
      last_ = root_;
    } else if (open_.back()->kind == JsonKind::kArray) {
      last_ = &open_.back()->items.emplace_back();
    } else {
      last_ = &open_.back()->members.emplace_back(key_, JsonValue()).second;
    }
    last_->kind = kind;
    const auto end = text_.begin() + static_cast<ptrdiff_t>(std::min(stream_.Tell(), text_.size()));
    last_->line = 1 + static_cast<int>(std::count(text_.begin(), end, '\n'));
    return true;
  }
  bool open() {
    open_.push_back(last_);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string& text_;
  const rapidjson::StringStream& stream_;
  JsonValue* root_;
  JsonValue* last_ = nullptr;
  /// The arrays and objects that contain the next value. A container grows only at its last
  /// element, in which no open one lies when it does.
  std::vector<JsonValue*> open_;
  std::string key_, repeated_;
  int repeated_line_ = 0;
};

}  // namespace

Status read_json(const std::string& text, const std::string& name, JsonValue* out) {
  *out = JsonValue();
  rapidjson::StringStream stream(text.c_str());
  ValueBuilder builder(text, stream, out);
  rapidjson::Reader reader;
  constexpr unsigned kFlags = rapidjson::kParseCommentsFlag | rapidjson::kParseIterativeFlag;
  const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, builder);
  if (!result.IsError()) return {};
  if (const int line = builder.repeated_line())
    return error(MPI_ERR_ARG, "%s, line %d: %s: allowed is one of them in an object", name.c_str(),
                 line, builder.repeated().c_str());
  const auto end = text.begin() + static_cast<ptrdiff_t>(std::min(result.Offset(), text.size()));
  return error(MPI_ERR_ARG, "%s, line %d: %s", name.c_str(),
               1 + static_cast<int>(std::count(text.begin(), end, '\n')),
               rapidjson::GetParseError_En(result.Code()));
}

}  // namespace fgmpi::predict
