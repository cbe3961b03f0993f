// JsonKeys: what readers of JSON files share: the values of keys, and errors that name the line,
// the key and what is allowed.
//
// Thread rule: values; nothing here switches.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <utility>

#include "base/status.h"
#include "base/strings.h"
#include "readers/prediction/json_value.h"

namespace fgmpi::predict {

/// The name of a file, for errors about its values.
class JsonKeys {
 public:
  explicit JsonKeys(std::string file) : file_(std::move(file)) {}
  const std::string& file() const { return file_; }

  Status at(const JsonValue& value, const char* text) const {
    return error(MPI_ERR_ARG, "%s, line %d: %s", file_.c_str(), value.line, text);
  }
  Status missing(const JsonValue& in, const char* key) const {
    return at(in, format("%s is missing", key).c_str());
  }
  /// Checks that a value is an object with no other keys.
  Status keys(const JsonValue& value, const char* what,
              std::initializer_list<const char*> allowed) const {
    if (value.kind != JsonValue::JsonKind::kObject)
      return at(value, format("%s: allowed is an object { ... }", what).c_str());
    std::string list;
    for (const char* key : allowed) list += (list.empty() ? "" : ", ") + std::string(key);
    for (const auto& [key, member] : value.members)
      if (std::find(allowed.begin(), allowed.end(), key) == allowed.end())
        return at(member,
                  format("%s in %s: allowed are %s", key.c_str(), what, list.c_str()).c_str());
    return {};
  }
  Status string(const JsonValue& value, const char* key, std::string* out) const {
    if (value.kind != JsonValue::JsonKind::kString)
      return at(value, format("%s: allowed is a text in quotes", key).c_str());
    *out = value.text;
    return {};
  }
  Status one_of(const JsonValue& value, const char* key, std::initializer_list<const char*> allowed,
                std::string* out) const {
    FGMPI_TRY(string(value, key, out));
    std::string list;
    for (const char* word : allowed) {
      if (*out == word) return {};
      list += (list.empty() ? "" : ", ") + std::string(word);
    }
    return at(value, format("%s: %s: allowed are %s", key, out->c_str(), list.c_str()).c_str());
  }
  Status number(const JsonValue& object, const char* key, double least, double most,
                double* out) const {
    const JsonValue* value = object.find(key);
    if (!value) return {};
    if (value->kind == JsonValue::JsonKind::kNumber && value->number >= least &&
        value->number <= most) {
      *out = value->number;
      return {};
    }
    return at(*value, format("%s: allowed is a number from %g to %g", key, least, most).c_str());
  }
  Status whole_number(const JsonValue& object, const char* key, double least, double most,
                      double* out) const {
    FGMPI_TRY(number(object, key, least, most, out));
    const JsonValue* value = object.find(key);
    if (!value || std::floor(value->number) == value->number) return {};
    return at(*value, format("%s: allowed is a whole number", key).c_str());
  }

 private:
  const std::string file_;
};

}  // namespace fgmpi::predict
