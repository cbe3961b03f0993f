// Links: frames between this process and processes of other jobs, over sockets (of the host, or TCP
// between hosts).
//
//   process of job A  --out------------------------in-->  process of job B
//                     <--in------------------------out--
//
//   Each direction has its own connection, opened by the sender:
//   | StreamHello |  then frames: | payload bytes 4 | Header 48 | payload |  last: kind kBye
//
// Frames of a connection within a host go through a ring of shared memory (shared_ring.h) from a
// frame of kind kRing on. After that frame its socket carries only bytes that wake a sleeping
// process, in both directions, and shows the end of the other process.
//
// A connection carries one direction: a process that leaves sends its bye and shuts the connection
// down; the other side reads all of it and then closes. No frame comes back on that connection, so
// unread frames are never lost.
//
// Detecting losses. Only the connection that a process writes shows whether it is lost: then it
// ends without a bye. When the connection that this process writes ends first, the other one's bye
// may be under way, even on a connection that has not been accepted yet. A process that ends in
// order closes what others write only when its byes are in their kernels. So all that it has sent
// is found by reading listeners, newcomers and its connections, and when these have nothing more
// and no bye, the process is lost. No time is measured.
//
// Connections come and go as jobs connect and disconnect, and a bye may still be unread when the
// next connection is made. So the process that opens connections numbers them, and only the last
// one counts. Each new communicator is announced by a frame of kind kHere: a process that has
// yet to announce one has not left. An announcement may come while its job's former
// communicators are still there, or when they have just gone. What is not settled is stored
// (unsettled_), and a connection that has announced a communicator which does not exist here yet
// is read on when it does.
//
// Links carries the frames of processes with the transport bit 1. A job on several hosts has a
// transport with that bit: Links then wraps it and passes on the frames of its own job.
//
// Headers. `src_process` is the sender's number in its own job; the receiver replaces it by its own
// number of that process. The process in `src_rank` of messages between processes is translated in
// the same way (pt2pt::source_to_travel).
//
// A process may connect if it knows the key of this process (its card) or of a port of it (the
// port's name). All others are refused and counted.
// Thread rule: one thread; nothing here switches.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ch4-av-rankmap/process_groups.h"
#include "ch4-av-rankmap/rankmap.h"
#include "dynamic/contact.h"
#include "dynamic/hello.h"
#include "dynamic/socket_stream.h"
#include "transport/frames.h"

namespace fgmpi::dynamic {

inline constexpr uint8_t kBye = 0xff, kHere = 0xfe, kRing = 0xfd;  ///< Header::kind
enum class ByeReason : int32_t { kDisconnected = 1, kEnded };

/// Makes the hello for the process with this key, or for a port.
StreamHello make_hello(StreamHello::Kind kind, const SecretKey& key);

class OutLink;
class InLink;

/// A process of another job.
struct ForeignProcess {
  uint32_t process = 0;  ///< number in the address vector
  uint32_t pgid = 0, index = 0;
  OutLink* out = nullptr;
  InLink* in = nullptr;    ///< the last connection that the peer has opened
  uint32_t in_number = 0;  ///< number of that connection; kept after it has ended
  /// The number of communicators that were established here and that the peer has not announced
  /// yet; below 0: announced, but not established here yet.
  int32_t awaited = 0;
  bool bye_received = false;  ///< on its last connection
  bool failed = false;        ///< lost, or has ended; frames to it are dropped
  bool no_reads = false;      ///< the kernel does not let us read its memory
  bool has_left() const { return bye_received && awaited <= 0; }
  bool alive() const { return !has_left() && !failed; }
};

class Links final : public transport::FrameCarrier, private transport::MemoryReader {
 public:
  /// Opens the sockets that others connect to; idempotent. Errors: MPI_ERR_OTHER.
  Status listen();
  const ProcessContact& contact() const { return contact_; }
  const SecretKey& key() const { return key_; }
  std::string own_card() const { return ProcessCard{contact_, key_}.to_string(); }
  uint64_t strangers() const { return strangers_; }
  /// How many frames were refused because they were malformed.
  uint64_t refused() const { return refused_; }
  /// Makes links wrap the transport that had the transport bit 1; frames for the own job are passed
  /// on to it.
  void stand_before(transport::FrameCarrier* inner) { inner_ = inner; }
  /// Opens connections to the other jobs' processes of a map, so that each side notices when the
  /// other is lost.
  void open_to(const RankMap& map);
  void set_sink(transport::FrameSink* sink) { sink_ = sink; }

  // transport::FrameCarrier
  const char* name() const override { return "links"; }
  size_t max_payload() const override;
  size_t most_unasked() const override;
  size_t least_lent() const override { return inner_ ? inner_->least_lent() : SIZE_MAX; }
  bool try_send(uint32_t process, uint64_t peer, const transport::Header& header,
                const void* payload, size_t length) override;
  transport::LendResult try_lend(uint32_t process, uint64_t peer, const transport::Header& header,
                                 const void* payload, size_t length, void* lender) override;
  transport::MemoryReader* memory_reader() override { return this; }
  /// One-sided accesses stay within the own job.
  transport::GrantedMemory* granted_memory() override {
    return inner_ ? inner_->granted_memory() : nullptr;
  }
  bool poll() override;
  bool arm() override;
  void disarm() override;
  int wait_fd() const override;
  int64_t longest_sleep() const override;
  bool tick() override;
  /// Sends its byes and the frames before them, then closes everything.
  void close();

 private:
  // transport::MemoryReader
  transport::ReadResult read(uint32_t process, uint64_t peer, uint64_t remote, void* local,
                             size_t length, uint64_t cookie) override;
  void expose(uint32_t process, uint64_t peer, size_t length) override;

  friend class OutLink;
  friend class InLink;
  friend class AcceptedStream;
  class Listener;
  void added(uint32_t pgid);
  void removing(uint32_t pgid);
  void removed();
  bool own(uint32_t process) const;
  OutLink* out_of(ForeignProcess* peer);
  void announce_comm_here(ForeignProcess* peer);
  void send_bye(ForeignProcess* peer, ByeReason reason);
  void add_accepted_stream(int fd);
  bool accept_hello(const StreamHello& hello, class AcceptedStream* accepted);
  bool deliver(InLink* link, transport::Header header, const void* payload, size_t length);
  ForeignProcess* peer_of(InLink* link);
  /// True if the next frame of the link belongs to a communicator that is not established here yet.
  bool is_early(const InLink& link) const;
  void settle(const GroupUid& uid, uint32_t index, int32_t awaited);
  void on_bye(ForeignProcess* peer);
  void out_ended(OutLink* link, const std::string& why);
  void in_ended(InLink* link, const std::string& why);
  bool may_have_unread_frames(const ForeignProcess& peer) const;
  bool check_for_room();
  void judge_suspects();
  void lose(ForeignProcess* peer, const std::string& why);
  void report();
  void count_alive();
  transport::FrameSink* sink_ = nullptr;
  transport::FrameCarrier* inner_ = nullptr;
  ProcessContact contact_;
  SecretKey key_;
  bool listening_ = false, closing_ = false, made_room_ = false;
  std::vector<std::unique_ptr<SocketStream>> listeners_;
  std::map<SocketStream*, std::unique_ptr<SocketStream>> streams_;  ///< newcomers and links
  std::map<uint32_t, std::vector<ForeignProcess>> peers_;           ///< by pgid
  std::vector<InLink*> paused_;  ///< links of jobs that are not known here yet
  /// `awaited` of processes of jobs that are not known now, where it is not 0.
  std::map<std::pair<GroupUid, uint32_t>, int32_t> unsettled_;
  std::vector<InLink*> rings_;      ///< links whose frames come through a ring
  std::vector<OutLink*> starving_;  ///< links whose rings had no room
  uint32_t polls_ = 0;
  bool shared_ = false;           ///< rings may be used
  size_t least_read_ = SIZE_MAX;  ///< the least bytes that are read from a peer's memory
  uint64_t changes_ = 1;          ///< counts groups that came or went
  struct Failure {
    uint32_t process;
    std::string why;
  };
  std::vector<Failure> failures_;
  /// A peer whose connection for our frames has ended, without a bye from it so far; and how
  /// it ended.
  struct Suspect {
    ForeignProcess* peer;
    std::string why;
  };
  std::vector<Suspect> suspects_;
  uint32_t opened_ = 0;  ///< number of connections that this process has opened
  uint64_t strangers_ = 0, refused_ = 0;
};

/// The links of this process. Never destroyed.
Links& links();
/// Sets the function that is called when links() is first used; from then on the links are polled
/// and slept on.
void set_links_opened_handler(Status (*handler)(Links& links));
/// Sets the function for streams that have sent the key of a port (dynamic/ports.h): it adopts the
/// descriptor, or refuses.
void set_port_handler(bool (*handler)(const StreamHello& hello, int fd));

}  // namespace fgmpi::dynamic
