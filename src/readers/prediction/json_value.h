// JsonValue: a JSON text whose values know their lines, so that errors about them can name the
// line.
//
// Thread rule: values; nothing here switches.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace fgmpi::predict {

struct JsonValue {
  enum class JsonKind : uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };
  JsonKind kind = JsonKind::kNull;
  int line = 0;
  bool truth = false;
  double number = 0;
  std::string text;
  std::vector<JsonValue> items;
  std::vector<std::pair<std::string, JsonValue>> members;

  const JsonValue* find(std::string_view name) const {
    for (const auto& [key, value] : members)
      if (key == name) return &value;
    return nullptr;
  }
};

/// Reads a text. `name`: the file, for errors. Errors: MPI_ERR_ARG, with the line.
Status read_json(const std::string& text, const std::string& name, JsonValue* out);

}  // namespace fgmpi::predict
