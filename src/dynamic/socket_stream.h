// Streams: sockets that never block, and the poller that finds those with events.
//
// A stream stores bytes that could not be written yet, and reads when the poller finds input. Where
// it connects, it tries one address after the other.
// Thread rule: one thread. Invariants: on_end() is called once, and no other function after it; a
// stream that is closed during a poll stays in memory until that poll is over.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dynamic/contact.h"

namespace fgmpi::dynamic {

class SocketStream;

class StreamPoller {
 public:
  /// The descriptor that is readable when a stream has an event; -1: none could be opened.
  int descriptor();
  /// Handles the events of all streams. Returns true when there were any.
  bool poll();
  /// Closes a stream, and destroys it after the poll that is running: others may still point at it.
  void destroy(std::unique_ptr<SocketStream> stream);
  /// The time in ns for which poll() need not be called. Streams that could not connect for lack
  /// of room try again, and bytes that were read before a stream was paused are delivered when it
  /// goes on.
  int64_t longest_sleep() const;

 private:
  friend class SocketStream;
  /// Calls visit() for the streams of a list that are still open. The list is emptied first, as
  /// streams may be entered in it again.
  template <class Visit>
  void visit_streams(std::vector<SocketStream*>* list, Visit visit);
  int epoll_ = -1;
  bool polling_ = false;
  std::vector<std::unique_ptr<SocketStream>> done_;
  std::vector<SocketStream*> retrying_;
  std::vector<SocketStream*> resumed_;  ///< streams with bytes from before they were paused
};
extern StreamPoller& g_poller;

class SocketStream {
 public:
  SocketStream() = default;
  virtual ~SocketStream();
  SocketStream(const SocketStream&) = delete;
  SocketStream& operator=(const SocketStream&) = delete;

  /// Adopts a connected descriptor. `owned`: it is closed with the stream.
  void adopt(int fd, bool owned);
  /// Begins to connect to the first of these that answers.
  void connect(std::vector<StreamAddress> addresses);
  /// Writes both pieces, or stores what cannot be written yet.
  void write(const void* first, size_t first_bytes, const void* second, size_t second_bytes);
  /// Writes these bytes, and a descriptor that the reader receives with them. Returns false if
  /// nothing can be written now. REQUIRES: local(), unsent() == 0.
  bool write_with_descriptor(const void* bytes, size_t count, int descriptor);
  /// True if this is connected within this host.
  bool local() const;
  /// The process at the other end; 0: it is not known, or on another host.
  pid_t peer_process() const;
  /// Bytes that are stored and not yet written.
  size_t unsent() const { return out_.size() - out_at_; }
  bool open() const { return fd_ >= 0; }
  /// Stops reading, or goes on. While reading is stopped, only the end is noticed.
  void pause(bool paused);
  /// True if the other side has closed, although its last bytes may not have been read.
  bool hung_up() const;
  /// True if there is input to read, a connection to accept, or an end to notice.
  bool has_news() const;
  /// True if some of the bytes written are still stored here, or travelling to the kernel of
  /// another host.
  virtual bool under_way() const;
  /// Ends writing; the other side reads an end behind the last byte. REQUIRES: unsent() == 0.
  void shut_down();
  /// Closes the stream; on_end() is not called.
  void close();
  /// Returns the descriptor without closing it; the stream does not use it any more.
  int release();

 protected:
  /// Writes one byte, which wakes the other side; writes nothing where many bytes are unread.
  void wake_other();
  /// Handles the events that the poller has found. The default writes and reads; listeners accept.
  virtual void on_ready(uint32_t events);
  /// Called with bytes that came. Returns how many were used: the rest comes again with more
  /// behind it.
  virtual size_t on_bytes(const uint8_t* bytes, size_t count) = 0;
  /// Called with a descriptor that came with the next bytes; the function must close it.
  virtual void on_descriptor(int descriptor);
  /// The most bytes to read (exactly those needed, where the descriptor belongs to somebody
  /// else afterwards).
  virtual size_t wanted() const { return SIZE_MAX; }
  /// Called when the other side has closed, the connection is broken, or none could be made.
  virtual void on_end(const std::string& why) = 0;
  /// Called when stored bytes have been written.
  virtual void on_room() {}
  int fd_ = -1;

 private:
  friend class StreamPoller;
  void watch();
  void try_next(const std::string& why);
  void flush();
  void read_all();
  void deliver_unread();
  ssize_t receive(size_t most);
  void finish(const std::string& why);
  bool owned_ = true, connecting_ = false, paused_ = false, watched_ = false, closed_ = false;
  uint32_t events_ = 0;
  std::vector<uint8_t> in_, out_;
  size_t out_at_ = 0;
  std::vector<StreamAddress> addresses_;
  size_t next_address_ = 0;
};

/// Opens a listening socket with that name on this host, or on the network (*port is set). -1:
/// errno has the reason.
int listen_locally(const std::string& name);
int listen_to_network(uint16_t* port);

}  // namespace fgmpi::dynamic
