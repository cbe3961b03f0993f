// A reader of JSON for tests: takes exactly what RFC 8259 allows, and finds values by their path.
#pragma once

#include <charconv>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fgmpi::report {

struct Json {
  enum { kInvalid, kWord, kNumber, kString, kArray, kObject } kind = kInvalid;
  double number = 0;
  std::string text;  ///< of a string: its bytes, with \uXXXX left as they are
  std::vector<Json> items;
  std::map<std::string, Json> members;

  const Json& operator[](const std::string& name) const { return members.at(name); }
  const Json& operator[](size_t i) const { return items.at(i); }
  size_t size() const { return items.size(); }
};

class JsonParser {
 public:
  /// A Json of kind kInvalid for a text that is not one value of JSON.
  static Json parse(std::string_view text) {
    JsonParser parser(text);
    Json value;
    parser.skip();
    if (!parser.value(&value, 0)) return {};
    parser.skip();
    return parser.rest_.empty() ? value : Json();
  }

 private:
  explicit JsonParser(std::string_view text) : rest_(text) {}
  void skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }
  bool take(char c) {
    skip();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool value(Json* out, int depth) {
    skip();
    if (rest_.empty() || depth > 50) return false;
    switch (rest_[0]) {
      case '{':
        return object(out, depth);
      case '[':
        return array(out, depth);
      case '"':
        out->kind = Json::kString;
        return string(&out->text);
      default:
        return word(out) || number(out);
    }
  }
  bool word(Json* out) {
    for (std::string_view w : {"true", "false", "null"})
      if (rest_.starts_with(w)) {
        rest_.remove_prefix(w.size());
        out->kind = Json::kWord;
        out->text = w;
        return true;
      }
    return false;
  }
  bool number(Json* out) {
    const size_t sign = rest_[0] == '-';
    if (rest_.size() <= sign || rest_[sign] < '0' || rest_[sign] > '9') return false;  // inf, nan
    if (rest_[sign] == '0' && rest_.size() > sign + 1 && isdigit(rest_[sign + 1])) return false;
    const auto [end, failed] = std::from_chars(rest_.begin(), rest_.end(), out->number);
    if (failed != std::errc() || end[-1] == '.') return false;
    out->kind = Json::kNumber;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.begin()));
    return true;
  }
  bool string(std::string* out) {
    for (size_t i = 1; i < rest_.size(); ++i) {
      const auto c = static_cast<unsigned char>(rest_[i]);
      if (c < 0x20) return false;
      if (c == '"') {
        *out = rest_.substr(1, i - 1);
        rest_.remove_prefix(i + 1);
        return true;
      }
      if (c != '\\') continue;
      if (++i >= rest_.size() || std::string_view("\"\\/bfnrtu").find(rest_[i]) == rest_.npos)
        return false;
    }
    return false;
  }
  bool array(Json* out, int depth) {
    out->kind = Json::kArray;
    take('[');
    if (take(']')) return true;
    do {
      out->items.emplace_back();
      if (!value(&out->items.back(), depth + 1)) return false;
    } while (take(','));
    return take(']');
  }
  bool object(Json* out, int depth) {
    out->kind = Json::kObject;
    take('{');
    if (take('}')) return true;
    do {
      std::string name;
      skip();
      if (rest_.empty() || rest_[0] != '"' || !string(&name) || !take(':')) return false;
      if (!value(&out->members[name], depth + 1)) return false;
    } while (take(','));
    return take('}');
  }

  std::string_view rest_;
};

}  // namespace fgmpi::report
