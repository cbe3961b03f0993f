// The words of an error of the hosted MPICH, for people.
#pragma once

#include <string>
#include <string_view>

namespace fgmpi::host {

/// Makes one line of a text of MPICH. It may be a class, then ", error stack:" and lines such as
/// "internal_Send(75)....: MPI_Send(buf=0x7ffc, ...) failed", of which the last says what is wrong.
/// Other texts are returned as they are, without line ends.
inline std::string plain_error_text(std::string_view text) {
  constexpr std::string_view kStack = ", error stack:";
  const size_t stack = text.find(kStack);
  std::string line(text.substr(0, stack));
  if (stack != text.npos) {
    std::string_view last = text.substr(stack + kStack.size());
    while (!last.empty() && last.back() == '\n') last.remove_suffix(1);
    last = last.substr(last.rfind('\n') + 1);
    const size_t head = last.find("): "), dots = last.find(").");
    if (head != last.npos)
      last = last.substr(head + 3);
    else if (dots != last.npos && last.find(": ", dots) != last.npos)
      last = last.substr(last.find(": ", dots) + 2);
    // The arguments of the call itself are known better, and may be addresses.
    if (!last.empty() && !last.ends_with(" failed")) line += ": " + std::string(last);
  }
  for (char& c : line)
    if (c == '\n') c = ' ';
  return line;
}

}  // namespace fgmpi::host
