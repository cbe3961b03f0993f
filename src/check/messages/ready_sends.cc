// Ready sends (MPI_Rsend and its kind): each may begin only once its receive has (MPI-4.1 section
// 3.4).
//
// Whether that holds in every run follows from vector clocks (order/clock.h): the sender has to
// know, from messages or collectives, of the event at which the receive began. Only programs that
// use such sends count these events, and their receives leave the path of repeated calls. Libraries
// are not searched for ready sends: mpi4py, say, has all functions of MPI.
#include <cstring>

#include "base/modules.h"
#include "check/call.h"
#include "check/messages/messages.h"

namespace fgmpi::check {

namespace {

/// Is this the name of a function that makes ready sends, in C or Fortran?
bool is_ready_send(const char* name) {
  const bool mpi = !strncasecmp(name, "MPI_", 4) || !strncasecmp(name, "PMPI_", 5);
  return mpi && strcasestr(name, "rsend") != nullptr;
}

/// The tables of a module that tell which functions of others it uses.
struct UsedSymbols {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * tables[2] = {};  ///< DT_RELA and DT_JMPREL
  size_t bytes[2] = {};
};

UsedSymbols used_symbols_of(const link_map* module) {
  UsedSymbols used;
  DynamicSection(module).for_each([&](const ElfW(Dyn) & entry) {
    if (entry.d_tag == DT_SYMTAB)
      used.symbols = reinterpret_cast<const ElfW(Sym)*>(entry.d_un.d_ptr);
    if (entry.d_tag == DT_STRTAB) used.names = reinterpret_cast<const char*>(entry.d_un.d_ptr);
    if (entry.d_tag == DT_RELA || entry.d_tag == DT_JMPREL)
      used.tables[entry.d_tag == DT_JMPREL] = reinterpret_cast<const ElfW(Rela)*>(entry.d_un.d_ptr);
    if (entry.d_tag == DT_RELASZ) used.bytes[0] = entry.d_un.d_val;
    if (entry.d_tag == DT_PLTRELSZ) used.bytes[1] = entry.d_un.d_val;
  });
  return used;
}

bool is_ready(const CallRecord& send) { return !std::strcmp(send.info().operation, "Rsend"); }

}  // namespace

bool program_sends_ready() {
  const link_map* program = program_module();
  if (!program || !program->l_ld) return false;
  const UsedSymbols used = used_symbols_of(program);
  if (!used.symbols || !used.names) return false;
  for (int table = 0; table < 2; ++table)
    for (size_t i = 0; used.tables[table] && i < used.bytes[table] / sizeof(ElfW(Rela)); ++i) {
      const ElfW(Sym)& symbol = used.symbols[ELF64_R_SYM(used.tables[table][i].r_info)];
      if (symbol.st_shndx == SHN_UNDEF && is_ready_send(used.names + symbol.st_name)) return true;
    }
  return false;
}

void record_receive_begun(Rank* rank, CheckedReceive* receive) {
  if (g_process.sends_ready && !receives_too(receive->call->info()))
    receive->begun = next_event(rank);
}

void check_ready_send(Rank* rank, const QueuedMessage& m, const CheckedReceive& receive) {
  if (!receive.begun || g_process.order_unknown || !is_ready(*m.call)) return;
  if (known_events(*rank, m.known) >= receive.begun) return;
  report_once(
      rank, FindingKind::kMessages, "a ready send may begin before its receive does",
      "a message or collective call after the receive has begun tells the sender that it has",
      false,
      {sender_of(m.source_world(), m.call, ""), participant(rank, receive.call, "takes it")});
}

}  // namespace fgmpi::check
