// Fuzz target: any bytes as what the launcher says over PMI-1, and as the mapping of processes to
// nodes that it publishes. A session that starts has values that make sense; one that does not
// start says why.
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "bootstrap/pmi1.h"
#include "bootstrap/pmi_line.h"
#include "bootstrap/process_mapping.h"

using namespace fgmpi;
using namespace fgmpi::bootstrap;

namespace {

void expect(bool condition) {
  if (!condition) std::abort();
}

void check_line(const std::string& text) {
  const PmiLine line(text);
  for (const char* key : {"cmd", "rc", "size", ""}) {
    const auto value = line.find(key);
    // The word is in the line, at its start or behind a space.
    if (value)
      expect((" " + text + " ").find(" " + std::string(key) + "=" + *value + " ") != text.npos);
    if (line.number(key)) expect(value && !value->empty());
  }
}

void check_mapping(const std::string& text) {
  for (int size : {0, 1, 100}) {
    const auto nodes = parse_process_mapping(text, size);
    expect(nodes.empty() || nodes.size() == static_cast<size_t>(size));
    for (int node : nodes) expect(node >= 0);
  }
}

/// A launcher that has said all of `answers` before it is asked.
void check_session(const std::string& answers) {
  int ends[2];
  if (answers.size() > 50000 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
  // The last lines are no answer to anything, so that no call waits for more: there are more than
  // calls.
  std::string text = answers + "\n";
  for (int i = 0; i < 20; ++i) text += "end\n";
  if (write(ends[1], text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::abort();
  {
    std::unique_ptr<Bootstrap> client;
    const Status status = start_pmi1(ends[0], "0", &client);
    expect(status.ok() ? client != nullptr : !status.what().empty());
    if (status.ok()) {
      expect(client->size() >= 1 && client->rank() >= 0 && client->rank() < client->size());
      expect(!client->job().empty() && client->max_value() >= 63);
      std::string value;
      (void)client->put("key", "value");
      (void)client->fence();
      (void)client->get("key", &value);
      if (client->size() < 10000) {
        const auto nodes = client->node_of();
        expect(nodes.empty() || nodes.size() == static_cast<size_t>(client->size()));
      }
      (void)client->finalize();
    }
  }
  close(ends[1]);
}

/// Nearly right: a good text in which the input replaces stretches.
std::string changed(std::string text, const uint8_t* data, size_t size) {
  for (size_t i = 0; i + 4 <= size && i < 12; i += 4) {
    const size_t at = (data[i] * 256u + data[i + 1]) % text.size();
    const size_t more = std::min<size_t>(data[i + 2] % 4, size - i - 3);
    text.replace(at, data[i + 2] / 4 % 8, reinterpret_cast<const char*>(data + i + 3), more);
    if (text.empty()) break;
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_line(text);
  check_mapping(text);
  check_session(text);
  check_mapping(changed("(vector,(0,2,1),(2,1,3))", data, size));
  check_session(
      changed("cmd=initack rc=0\ncmd=set size=3\ncmd=set rank=2\n"
              "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
              "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\ncmd=appnum appnum=1\n"
              "cmd=universe_size size=8\ncmd=my_kvsname kvsname=kvs_1_0\ncmd=put_result rc=0\n"
              "cmd=barrier_out rc=0\ncmd=get_result rc=0 value=x\n"
              "cmd=get_result rc=0 value=(vector,(0,2,1),(2,1,3))\ncmd=finalize_ack\n",
              data, size));
  return 0;
}
