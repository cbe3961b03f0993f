// Encoding and transport of the words between explored process and explorer.

#include "explore/channel.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/passed_descriptors.h"

namespace fgmpi::explore {
namespace {

bool transfer(long call, int fd, uint8_t* bytes, size_t size) {
  while (size > 0) {
    const long n = syscall(call, fd, bytes, size, MSG_NOSIGNAL, nullptr, nullptr);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

constexpr size_t kLongest = size_t{1} << 30;

}  // namespace

Bytes begin_word(ChannelWord word) { return {static_cast<uint8_t>(word)}; }

void append(Bytes* out, const std::vector<Choice>& choices) {
  fgmpi::append(out, static_cast<uint32_t>(choices.size()));
  for (const Choice& c : choices) fgmpi::append(out, c);
}

std::vector<Choice> read_choices(FieldReader* in) {
  std::vector<Choice> choices;
  for (auto n = in->get<uint32_t>(); n > 0 && !in->failed(); --n)
    choices.push_back(in->get<Choice>());
  return choices;
}

void append(Bytes* out, const EventSet& set) {
  fgmpi::append(out, static_cast<uint32_t>(set.words().size()));
  for (uint64_t word : set.words()) fgmpi::append(out, word);
}

EventSet read_set(FieldReader* in) {
  std::vector<uint64_t> words;
  for (auto n = in->get<uint32_t>(); n > 0 && !in->failed(); --n)
    words.push_back(in->get<uint64_t>());
  EventSet set;
  set.set_words(std::move(words));
  return set;
}

void add_frame(Bytes* out, const Bytes& word) {
  fgmpi::append(out, static_cast<uint32_t>(word.size()));
  out->insert(out->end(), word.begin(), word.end());
}

bool send_bytes(int fd, const Bytes& framed) {
  return transfer(SYS_sendto, fd, const_cast<uint8_t*>(framed.data()), framed.size());
}

bool send_word(int fd, const Bytes& word) {
  Bytes framed;
  add_frame(&framed, word);
  return send_bytes(fd, framed);
}

bool send_hello(int fd, const Bytes& word, const Outputs& outputs) {
  Bytes framed;
  add_frame(&framed, word);
  DescriptorMessage<std::tuple_size_v<Outputs>> message(framed.data(), framed.size());
  message.put(outputs.data());
  long n;
  do {
    n = syscall(SYS_sendmsg, fd, message.header(), MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  // A new connection has room for all of it.
  return n == static_cast<long>(framed.size());
}

ssize_t receive_some(int fd, void* bytes, size_t size, Outputs* outputs) {
  DescriptorMessage<std::tuple_size_v<Outputs>> message(bytes, size);
  const long n = syscall(SYS_recvmsg, fd, message.header(), MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  Outputs came;
  if (n <= 0 || !message.take(came.data())) return n;
  close_outputs(outputs);
  *outputs = came;
  return n;
}

void close_outputs(Outputs* outputs) {
  for (int& fd : *outputs) {
    if (fd >= 0) syscall(SYS_close, fd);
    fd = -1;
  }
}

bool receive_word(int fd, Bytes* bytes) {
  uint32_t size = 0;
  if (!transfer(SYS_recvfrom, fd, reinterpret_cast<uint8_t*>(&size), sizeof size)) return false;
  if (size == 0 || size > kLongest) return false;
  bytes->resize(size);
  return transfer(SYS_recvfrom, fd, bytes->data(), size);
}

std::string socket_path(const std::string& folder) { return folder + "/explorer"; }

int connect_to(const std::string& folder) {
  const std::string path = socket_path(folder);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return errno = ENAMETOOLONG, -1;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int fd = static_cast<int>(syscall(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (fd < 0) return -1;
  while (syscall(SYS_connect, fd, &address, sizeof address) != 0)
    if (errno != EINTR) return syscall(SYS_close, fd), -1;
  return fd;
}

}  // namespace fgmpi::explore
