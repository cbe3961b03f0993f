// Links: frames between this process and processes of other jobs, over sockets (of the host, or TCP
// between hosts).
//
//   process of job A  --out------------------------in-->  process of job B        one connection for each direction,
//                     <--in------------------------out--                          opened by who sends
//
//   | Hello |  then frames: | payload bytes 4 | Header 48 | payload |             at the end a frame of kind kBye
//
// Frames of a connection within a host go through a ring of shared memory (shared_ring.h) from a
// frame of kind kRing on. After that its socket carries bytes that wake a sleeping process, either
// way, and tells the end.
//
// One direction a connection: a process that goes writes its bye and shuts down; the other side
// reads all of it and then closes. No frame comes back on that connection, so nothing that has not
// been read yet is lost.
//
// Who is lost. Only the connection that a process writes tells: it ends without a bye. When the one
// that this process writes ends first, the other one's bye may be under way, even on a connection
// that nobody has accepted yet. A process that ends in order closes what others write only when its
// byes are with their kernels; so whatever it has said is found by looking at listeners, newcomers
// and its connections, and when these have nothing more without a bye, it is lost. No time is
// measured.
//
// Connections come and go as jobs connect and disconnect; a bye may still be unread when the next
// connection is made. So connections are numbered by who opens them, and only the last one counts;
// and each new communicator is announced by a frame of kind kHere: a process that has yet to
// announce one has not left. An announcement may come while its job's former communicators are
// still there, or when they have just gone: what is not settled is kept (unsettled_), and a
// connection that has announced what is not established here is read on when it is.
//
// Links is the transport with the transport bit 1. A job on several hosts has another one there:
// Links then stands in front of it and hands on what is for its own job.
//
// Headers. `src_process` is the sender's number in its own job; the receiver puts the number that
// it has for that process. Messages between processes have their process taken out of `src_rank`
// likewise (pt2pt::source_to_travel).
//
// Who may connect: whoever knows the key of this process (its card) or of a port of it (the port's
// name). All others are refused and counted.
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
#include "dynamic/stream.h"
#include "transport/transport.h"

namespace fgmpi::dynamic {

inline constexpr uint8_t kBye = 0xff, kHere = 0xfe, kRing = 0xfd;  ///< Header::kind
enum class ByeReason : int32_t { kDisconnected = 1, kEnded };

/// A hello to the process with this key, or to a port.
Hello make_hello(Hello::Kind kind, const Key& key);

class OutLink;
class InLink;

/// A process of another job.
struct Peer {
  uint32_t process = 0;  ///< in the address vector
  uint32_t pgid = 0, index = 0;
  OutLink* out = nullptr;
  InLink* in = nullptr;    ///< the last connection that it has opened
  uint32_t in_number = 0;  ///< which one that is or was
  /// Communicators that were established here and that it has not announced yet; less than 0: the
  /// other way round.
  int32_t awaited = 0;
  bool said_bye = false;  ///< on its last connection
  bool failed = false;    ///< lost, or has ended: what is sent to it is dropped
  bool no_reads = false;  ///< the kernel does not let us read its memory
  bool has_left() const { return said_bye && awaited <= 0; }
  bool alive() const { return !has_left() && !failed; }
};

class Links final : public transport::Transport {
 public:
  /// Opens the sockets that others connect to; idempotent. Errors: MPI_ERR_OTHER.
  Status listen();
  const Contact& contact() const { return contact_; }
  const Key& key() const { return key_; }
  std::string own_card() const { return Card{contact_, key_}.to_string(); }
  uint64_t strangers() const { return strangers_; }
  /// What the transport with bit 1 was before; frames for the own job are handed on to it.
  void stand_before(transport::Transport* inner) { inner_ = inner; }
  /// Opens connections to the other jobs' processes of a map, so that each side notices when the
  /// other is lost.
  void open_to(const RankMap& map);
  void set_sink(transport::Sink* sink) { sink_ = sink; }

  // Transport
  const char* name() const override { return "links"; }
  bool reaches(const std::string&) const override { return false; }
  Status open(transport::Sink* sink, std::string* address) override;
  Status add_peer(uint32_t process, const std::string& address, uint64_t* local) override;
  size_t max_payload() const override;
  size_t most_unasked() const override;
  size_t least_lent() const override { return inner_ ? inner_->least_lent() : SIZE_MAX; }
  bool try_send(uint32_t process, uint64_t peer, const transport::Header& header,
                const void* payload, size_t length) override;
  transport::LendResult try_lend(uint32_t process, uint64_t peer, const transport::Header& header,
                                 const void* payload, size_t length, void* lender) override;
  void expose(uint32_t process, uint64_t peer, size_t length) override;
  transport::ReadResult read(uint32_t process, uint64_t peer, uint64_t remote, void* local,
                             size_t length, uint64_t cookie) override;
  // Accesses are within the own job only.
  uint64_t grant_access() override { return inner_ ? inner_->grant_access() : 0; }
  void withdraw_access() override { inner_->withdraw_access(); }
  bool access_pays() const override { return inner_ && inner_->access_pays(); }
  size_t most_atomic(transport::Access::Kind kind, transport::AtomicOp op,
                     transport::AtomicType type) const override {
    return inner_ ? inner_->most_atomic(kind, op, type) : 0;
  }
  void access(uint64_t peer, const transport::Access& what) override { inner_->access(peer, what); }
  bool poll() override;
  bool arm() override;
  void disarm() override;
  int wait_fd() const override;
  int64_t longest_sleep() const override;
  bool tick() override;
  uint64_t refused() const override { return refused_; }
  void close() override;

 private:
  friend class OutLink;
  friend class InLink;
  friend class Newcomer;
  class Listener;
  void added(uint32_t pgid);
  void removing(uint32_t pgid);
  void removed();
  bool own(uint32_t process) const;
  OutLink* out_of(Peer* peer);
  void say_here(Peer* peer);
  void say_bye(Peer* peer, ByeReason reason);
  void take_newcomer(int fd);
  bool take_hello(const Hello& hello, class Newcomer* newcomer);
  bool deliver(InLink* link, transport::Header header, const void* payload, size_t length);
  Peer* peer_of(InLink* link);
  /// Is what it says next of a communicator that is not established here yet?
  bool is_early(const InLink& link) const;
  void settle(const GroupUid& uid, uint32_t index, int32_t awaited);
  void on_bye(Peer* peer);
  void out_ended(OutLink* link, const std::string& why);
  void in_ended(InLink* link, const std::string& why);
  bool may_have_said_more(const Peer& peer) const;
  bool look_for_room();
  void judge_suspects();
  void lose(Peer* peer, const std::string& why);
  void report();
  void count_alive();
  transport::Sink* sink_ = nullptr;
  transport::Transport* inner_ = nullptr;
  Contact contact_;
  Key key_;
  bool listening_ = false, closing_ = false, made_room_ = false;
  std::vector<std::unique_ptr<Stream>> listeners_;
  std::map<Stream*, std::unique_ptr<Stream>> streams_;  ///< newcomers and links
  std::map<uint32_t, std::vector<Peer>> peers_;         ///< by pgid
  std::vector<InLink*> paused_;                         ///< of jobs that are not known here yet
  /// `awaited` of processes of jobs that are not known now, where it is not 0.
  std::map<std::pair<GroupUid, uint32_t>, int32_t> unsettled_;
  std::vector<InLink*> rings_;      ///< those whose frames come through memory
  std::vector<OutLink*> starving_;  ///< whose rings had no room
  uint32_t polls_ = 0;
  bool shared_ = false;           ///< rings may be used
  size_t least_read_ = SIZE_MAX;  ///< the least bytes that are read from a peer's memory
  uint64_t changes_ = 1;          ///< how often groups came or went
  struct Failure {
    uint32_t process;
    std::string why;
  };
  std::vector<Failure> failures_;
  /// Peers whose connection for our frames has ended without a bye so far, and how.
  struct Suspect {
    Peer* peer;
    std::string why;
  };
  std::vector<Suspect> suspects_;
  uint32_t opened_ = 0;  ///< connections
  uint64_t strangers_ = 0, refused_ = 0;
};

/// The links of this process. Never destroyed.
Links& links();
/// Called when links() is first used, to be polled and slept on from then on.
void set_links_opened_handler(Status (*handler)(Links& links));
/// For a stream that has said the key of a port (dynamic/ports.h): takes over the descriptor, or
/// refuses.
void set_port_handler(bool (*handler)(const Hello& hello, int fd));

}  // namespace fgmpi::dynamic
