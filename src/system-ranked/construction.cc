// Notices between the vertices of this process and others while a tree is being built.

#include "system-ranked/construction.h"

#include <cstring>
#include <deque>
#include <utility>

#include "base/strings.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::system_ranked {
namespace {

/// The first byte of a notice has the message's kind in its low bits, then the algorithm, then
/// whether another fragment follows.
constexpr uint8_t kKindBits = 4, kWayBits = 2, kMore = 1 << (kKindBits + kWayBits);
static_assert(kKinds <= 1 << kKindBits);
/// Bytes of a notice before the message: at most 1 byte, k, and a number below 2^28.
constexpr size_t kMostHeader = 6;
constexpr size_t kMostPart = 1024 - kMostHeader;

/// Algorithm and filler in one number.
enum ConstructionWay : uint8_t { kCentral, kShrinkLeaf, kShrinkChild, kHash };
ConstructionWay way_of(const SplitOptions& options) {
  switch (options.algorithm) {
    case Algorithm::kCentralized:
      return kCentral;
    case Algorithm::kShrinkAndBalance:
      return options.filler == Filler::kLeaf ? kShrinkLeaf : kShrinkChild;
    default:
      return kHash;
  }
}
SplitOptions options_of(ConstructionWay way, uint32_t k) {
  constexpr Algorithm kAlgorithms[] = {Algorithm::kCentralized, Algorithm::kShrinkAndBalance,
                                       Algorithm::kShrinkAndBalance, Algorithm::kRankAndHash};
  return {.algorithm = kAlgorithms[way],
          .k = k,
          .filler = way == kShrinkChild ? Filler::kChild : Filler::kLeaf};
}

struct Message {
  Address from;
  ConstructionWay way;
  uint32_t k;  ///< sent with kUp only
  std::vector<uint8_t> bytes;
};

/// A construction that this process is in.
struct UnderWay {
  const SplitOptions& options;
  Vertex* vertex;
  Status status;
  sched::Proclet* waiter = nullptr;
  bool over() const { return !status.ok() || vertex->done(); }
};

std::map<ConstructionKey, UnderWay*> g_under_way;
std::map<ConstructionKey, std::vector<Message>> g_early_messages;
std::map<ConstructionKey, Intermediary> g_intermediaries;
std::map<std::pair<ConstructionKey, Address>, std::vector<uint8_t>> g_partial;
std::deque<std::pair<ConstructionKey, Message>> g_local;  ///< messages of this process to itself
bool g_delivering_local = false;
ConstructionCounts g_counts;
Status (*g_failure_of)(const ConstructionKey&) = nullptr;

class Notices final : public Carrier {
 public:
  Notices(const ConstructionKey& key, ConstructionWay way, uint32_t k)
      : key_(key), way_(way), k_(k) {}
  void send(Address to, std::vector<uint8_t> message) override {
    if (to == g_av.me()) {
      g_local.push_back({key_, {to, way_, k_, std::move(message)}});
      return;
    }
    ++g_counts.messages;
    g_counts.bytes += message.size();
    const MessageKind kind = static_cast<MessageKind>(message[0]);
    size_t at = 1;
    do {
      size_t n = std::min(kMostPart, message.size() - at);
      const bool more = at + n < message.size();
      MessageWriter out(static_cast<MessageKind>(kind | way_ << kKindBits | (more ? kMore : 0)));
      if (kind == kUp) out.put(uint64_t{k_});
      out.put(uint64_t{key_.number});
      std::vector<uint8_t> notice = out.take();
      const auto part = message.begin() + static_cast<ptrdiff_t>(at);
      notice.insert(notice.end(), part, part + static_cast<ptrdiff_t>(n));
      pt2pt::notify(to, pt2pt::kNoticeConstruction, key_.parent, notice.data(), notice.size());
      at += n;
    } while (at < message.size());
  }

 private:
  ConstructionKey key_;
  ConstructionWay way_;
  uint32_t k_;
};

std::string words_of(Algorithm algorithm, uint32_t k, Filler filler) {
  std::string words = format("%s with k = %u", algorithm_name(algorithm), k);
  if (algorithm == Algorithm::kShrinkAndBalance)
    words += filler == Filler::kLeaf ? " and leaf fillers" : " and child fillers";
  return words;
}

Status options_differ(const SplitOptions& mine, const Message& message) {
  return options_differ(format("process %u", g_av.me()), mine, format("process %u", message.from),
                        options_of(message.way, message.k));
}

void receive(UnderWay* u, const ConstructionKey& key, const Message& message) {
  if (u->over()) return;
  // Every construction begins with a kUp message from each child, so that message finds a member
  // with other options.
  if (message.bytes[0] == kUp && !same_way(options_of(message.way, message.k), u->options)) {
    u->status = options_differ(u->options, message);
  } else {
    Notices carrier(key, message.way, message.k);
    u->vertex->receive(message.from, message.bytes, carrier);
  }
  if (u->over() && u->waiter) sched::ready(std::exchange(u->waiter, nullptr));
}

void deliver(const ConstructionKey& key, Message message) {
  if (Intermediary::is_for(static_cast<MessageKind>(message.bytes[0]))) {
    Notices carrier(key, message.way, message.k);
    Intermediary& intermediary = g_intermediaries[key];
    intermediary.receive(message.from, message.bytes, carrier);
    if (intermediary.idle()) g_intermediaries.erase(key);
    return;
  }
  auto it = g_under_way.find(key);
  if (it == g_under_way.end()) {
    if (!g_failure_of || g_failure_of(key).ok())
      g_early_messages[key].push_back(std::move(message));
  } else {
    receive(it->second, key, message);
  }
}

/// Delivers what this process has sent to itself, until there is no more.
void deliver_local() {
  if (std::exchange(g_delivering_local, true)) return;
  while (!g_local.empty()) {
    auto [key, message] = std::move(g_local.front());
    g_local.pop_front();
    deliver(key, std::move(message));
  }
  g_delivering_local = false;
}

void on_construction_notice(uint32_t from, uint64_t ctx, const void* data, size_t bytes) {
  Message message;
  FGMPI_CHECK(bytes > 1);
  const uint8_t* begin = static_cast<const uint8_t*>(data);
  const MessageKind kind = static_cast<MessageKind>(*begin & ((1 << kKindBits) - 1));
  MessageReader in({begin + 1, bytes - 1});
  message.from = from;
  message.way = static_cast<ConstructionWay>(*begin >> kKindBits & ((1 << kWayBits) - 1));
  message.k = kind == kUp ? in.get32() : kLeastBranching;
  ConstructionKey key{ctx, in.get32()};
  auto partial = g_partial.empty() ? g_partial.end() : g_partial.find({key, from});
  if (partial != g_partial.end()) message.bytes = std::move(partial->second);
  if (message.bytes.empty()) message.bytes.push_back(kind);
  message.bytes.insert(message.bytes.end(), in.rest().begin(), in.rest().end());
  if (*begin & kMore) {
    g_partial[{key, from}] = std::move(message.bytes);
    return;
  }
  if (partial != g_partial.end()) g_partial.erase(partial);
  deliver(key, std::move(message));
  deliver_local();
}

void describe_construction(const sched::WaitSite*, std::string* out) {
  *out += "building a system-ranked group with other processes";
}

}  // namespace

Status options_differ(const std::string& one, const SplitOptions& his, const std::string& other,
                      const SplitOptions& its) {
  return error(
      MPI_ERR_OTHER,
      "system-ranked groups: %s builds by %s, %s by %s; allowed is the same at all members "
      "(fgmpi_system_ranked_algorithm, fgmpi_system_ranked_k, fgmpi_system_ranked_filler)",
      one.c_str(), words_of(his.algorithm, his.k, his.filler).c_str(), other.c_str(),
      words_of(its.algorithm, its.k, its.filler).c_str());
}

Status construct(const ConstructionKey& key, const SplitOptions& options, ParentPlace where,
                 std::vector<Enrolment> mine, const char* call, std::vector<TreePosition>* places) {
  if (g_failure_of) FGMPI_TRY(g_failure_of(key));
  std::unique_ptr<Vertex> vertex = Vertex::make(options, std::move(where), std::move(mine));
  UnderWay under_way{options, vertex.get(), {}};
  g_under_way.emplace(key, &under_way);
  Notices carrier(key, way_of(options), options.k);
  vertex->start(carrier);
  if (auto early = g_early_messages.find(key); early != g_early_messages.end()) {
    std::vector<Message> messages = std::move(early->second);
    g_early_messages.erase(early);
    for (const Message& message : messages) receive(&under_way, key, message);
  }
  deliver_local();
  sched::WaitSite site{call, describe_construction, true};
  while (!under_way.over()) {
    under_way.waiter = sched::current();
    sched::park(&site);
  }
  g_under_way.erase(key);
  *places = vertex->places();
  return std::move(under_way.status);
}

void fail_construction(const ConstructionKey& key, const Status& status) {
  g_early_messages.erase(key);
  std::erase_if(g_partial, [&](const auto& entry) { return entry.first.first == key; });
  auto it = g_under_way.find(key);
  if (it == g_under_way.end() || it->second->over()) return;
  it->second->status = Status(status.error_class(), status.what());
  if (it->second->waiter) sched::ready(std::exchange(it->second->waiter, nullptr));
}

void set_failure_source(Status (*failure_of)(const ConstructionKey&)) { g_failure_of = failure_of; }

void init_constructions() {
  pt2pt::set_notice_handler(pt2pt::kNoticeConstruction, on_construction_notice);
}

const ConstructionCounts& construction_counts() { return g_counts; }

}  // namespace fgmpi::system_ranked
