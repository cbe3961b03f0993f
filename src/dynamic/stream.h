// Streams: sockets that never block, and the poller that tells which of them have something.
//
// A stream keeps what could not be written yet, and reads when the poller says so. Where it
// connects, it tries one address after the other.
// Thread rule: one thread. Invariants: on_end() is called once, and nothing after it; a stream that
// is closed during a poll stays in memory until that poll is over.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dynamic/contact.h"

namespace fgmpi::dynamic {

class Stream;

class Poller {
 public:
  /// The descriptor that is readable when a stream has something; -1: there is none to be had.
  int descriptor();
  /// True when any stream had something.
  bool poll();
  /// Not now: in the middle of a poll others may still point at it.
  void destroy(std::unique_ptr<Stream> stream);
  /// How long nobody needs poll() in ns: streams that could not connect for lack of room try again,
  /// and what was read before a stream was paused is taken when it goes on.
  int64_t longest_sleep() const;

 private:
  friend class Stream;
  /// Calls visit() for those in the list that are still open, and empties it first: they may get
  /// into it again.
  template <class Visit>
  void go_through(std::vector<Stream*>* list, Visit visit);
  int epoll_ = -1;
  bool polling_ = false;
  std::vector<std::unique_ptr<Stream>> done_;
  std::vector<Stream*> retrying_;
  std::vector<Stream*> resumed_;  ///< that have bytes from before they were paused
};
extern Poller& g_poller;

class Stream {
 public:
  Stream() = default;
  virtual ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Takes a connected descriptor. `owned`: closed with the stream.
  void adopt(int fd, bool owned);
  /// Begins to connect to the first of these that answers.
  void connect(std::vector<SocketAddress> addresses);
  /// Writes, or keeps, both pieces.
  void write(const void* first, size_t first_bytes, const void* second, size_t second_bytes);
  /// Writes these bytes, and a descriptor that the reader takes with them. False: not now, nothing
  /// was written. REQUIRES: local(), unsent() == 0.
  bool write_with_descriptor(const void* bytes, size_t count, int descriptor);
  /// Is this connected, within this host?
  bool local() const;
  /// The process at the other end; 0: it is not known, or not of this host.
  pid_t peer_process() const;
  /// Bytes that are kept.
  size_t unsent() const { return out_.size() - out_at_; }
  bool open() const { return fd_ >= 0; }
  /// Reading stops, or goes on. While it is stopped, only the end is noticed.
  void pause(bool paused);
  /// Has the other side closed, although what it said before may not have been read?
  bool hung_up() const;
  /// Is there something to be read, or accepted, or an end to be noticed?
  bool has_news() const;
  /// Is some of what was written kept, or on its way to the kernel of another host?
  virtual bool under_way() const;
  /// Nothing more is written; the other side reads an end behind what was. REQUIRES: unsent() == 0.
  void shut_down();
  /// Stops everything; on_end() is not called.
  void close();
  /// Gives up the descriptor without closing it.
  int release();

 protected:
  /// Writes one byte at once, or nothing where many are unread: the other side wakes up.
  void wake_other();
  /// What the poller has found. The default writes and reads; listeners accept.
  virtual void on_ready(uint32_t events);
  /// Bytes came. Returns how many it has used: the rest comes again with more behind it.
  virtual size_t on_bytes(const uint8_t* bytes, size_t count) = 0;
  /// A descriptor came, with the bytes that come next. Whoever takes it closes it.
  virtual void on_descriptor(int descriptor);
  /// How many bytes to read at most (exactly what is needed, where the descriptor is somebody
  /// else's afterwards).
  virtual size_t wanted() const { return SIZE_MAX; }
  /// The other side has closed, or the connection is broken, or none came about.
  virtual void on_end(const std::string& why) = 0;
  /// Bytes that waited have left.
  virtual void on_room() {}
  int fd_ = -1;

 private:
  friend class Poller;
  void watch();
  void try_next(const std::string& why);
  void flush();
  void read_all();
  void take_kept();
  ssize_t receive(size_t most);
  void finish(const std::string& why);
  bool owned_ = true, connecting_ = false, paused_ = false, watched_ = false, closed_ = false;
  uint32_t events_ = 0;
  std::vector<uint8_t> in_, out_;
  size_t out_at_ = 0;
  std::vector<SocketAddress> addresses_;
  size_t next_address_ = 0;
};

/// Opens a listening socket on this host's socket of that name, or on the network (*port is set).
/// -1: errno says why.
int listen_locally(const std::string& name);
int listen_to_network(uint16_t* port);

}  // namespace fgmpi::dynamic
