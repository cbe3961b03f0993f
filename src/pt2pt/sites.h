// WaitSites of point-to-point, which the deadlock report and the debugger read.
#pragma once

#include <string>

#include "pt2pt/engine.h"

namespace fgmpi::pt2pt {

struct SendSite : sched::WaitSite {
  SendSite(const char* name, const SendOp* o) : WaitSite{name, words, true}, op(o) {}
  static void words(const WaitSite* site, std::string* out);
  const SendOp* op;
};

struct RecvSite : sched::WaitSite {
  RecvSite(const char* name, const RecvOp* o) : WaitSite{name, words, true}, op(o) {}
  static void words(const WaitSite* site, std::string* out);
  const RecvOp* op;
};

struct ProbeSite : sched::WaitSite {
  ProbeSite(const char* name, const Envelope* p) : WaitSite{name, words, true}, pattern(p) {}
  static void words(const WaitSite* site, std::string* out);
  const Envelope* pattern;
};

struct RequestsSite : sched::WaitSite {
  RequestsSite(const char* name, Request* const* r, size_t n)
      : WaitSite{name, words, true}, requests(r), count(n) {}
  static void words(const WaitSite* site, std::string* out);
  Request* const* requests;
  size_t count;
};

/// Parks until a blocking receive is complete. May switch.
inline void wait_for(RecvOp* op, const char* call) {
  if (!op->done) g_engine.spin(&op->done);
  if (op->done) return;
  RecvSite site(call, op);
  op->proclet = sched::current();
  sched::park(&site);
}

/// A table for fgmpi-info -job and the sampler of profile, which read the memory of a process of
/// the same version. They recognise a site by its `describe` function, and compare sizes to make
/// sure that they have the same layout.
struct SiteTable {
  static constexpr uint64_t kVersion = 2;
  using Words = void (*)(const sched::WaitSite*, std::string*);
  uint64_t version = 0;
  Words send = nullptr, receive = nullptr, probe = nullptr, requests = nullptr;
  /// Sizes of the objects behind the sites.
  uint64_t send_bytes = 0, receive_bytes = 0, request_bytes = 0;
  /// The endpoints: first the process's own, then those of its ranks.
  Endpoint* const* endpoints = nullptr;
};

/// Words such as "source 3, tag 7, communicator MPI_COMM_WORLD".
void describe_recv(const Envelope& pattern, uint64_t bytes, std::string* out);
void describe_send(const SendOp& op, std::string* out);
/// Sets whom this wait is for; false when that is not one proclet or process.
bool awaited(const sched::WaitSite* site, WaitFor* out);
bool awaited_source(const Envelope& pattern, WaitFor* out);
/// Whom a send waits for; false while that is not known. A rank that moves is named by its home.
bool awaited_destination(const SendOp& op, WaitFor* out);

}  // namespace fgmpi::pt2pt

extern "C" __attribute__((visibility("default"))) const fgmpi::pt2pt::SiteTable fgmpi_site_table;
