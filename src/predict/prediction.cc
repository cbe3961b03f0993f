// The predicted process: its machine, its simulator, its result.

#include "predict/prediction.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "base/environment.h"
#include "coll/early_exit_decider.h"
#include "predict/hooks.h"
#include "predict/simulator.h"
#include "pt2pt/engine.h"

namespace fgmpi::predict {
namespace {

std::string g_folder;
PredictedMachine* g_machine = nullptr;
Simulator* g_simulator = nullptr;
ComputedTimes* g_times = nullptr;

/// Runs when the process ends, however its ranks do.
void write_outcome() {
  PredictionOutcome outcome;
  g_simulator->fill_outcome(&outcome);
  if (g_machine->keeps_times)
    if (const Status kept = g_times->write(g_folder + "/" + kTimesFile); !kept.ok())
      std::fprintf(stderr, "fgmpi: predict: %s\n", kept.what().c_str());
  if (const Status written = outcome.write(g_folder + "/" + kOutcomeFile); !written.ok())
    std::fprintf(stderr, "fgmpi: predict: %s\n", written.what().c_str());
}

const PredictionHooks kHooks = {
    [](CallGroup group, uint64_t place) { g_simulator->enter(group, place); },
    [] { return g_machine->needs_places(); },
    [] { g_simulator->leave(); },
    [](MPI_Request request) { g_simulator->record_posted(request); },
    [](MPI_Request request) { g_simulator->leave_receive(request); },
    [](int count, const MPI_Request* requests, uint32_t* waited) {
      return g_simulator->begin_wait(count, requests, waited);
    },
    [](int count, uint32_t* waited) { g_simulator->end_wait(count, waited); },
    [] { g_simulator->await_accesses(); },
    [](int64_t bytes, const MPI_Request* request) { g_simulator->access_file(bytes, request); },
    [] { g_simulator->open_file(); },
    [] { g_simulator->begin_windows(); },
    [] { return g_simulator->rank_now_ns(); },
    [](int64_t ns) { g_simulator->pass_ns(ns); },
    [] { g_simulator->yield(); },
    [] { return g_simulator->clock_ns(); },
    [](const ClockObserver* observer) { g_simulator->observe(observer); },
    write_outcome,
};

}  // namespace

bool is_active() { return g_machine; }

Status begin() {
  const char* folder = environment::text(environment::kPredictFolder);
  if (!folder) return {};
  g_folder = folder;
  const std::string path = g_folder + "/" + kMachineFile;
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) return error(MPI_ERR_ARG, "predict: %s cannot be read", path.c_str());
  auto* machine = new PredictedMachine;
  FGMPI_TRY(PredictedMachine::from_text(text.str(), machine));
  if (machine->compute == ComputeModel::kRepeated) {
    g_times = new ComputedTimes;
    FGMPI_TRY(ComputedTimes::read(g_folder + "/" + kTimesFile, g_times));
  }
  g_machine = machine;
  environment::unset(
      environment::kPredictFolder);  // programs that this one starts are not predicted
  return {};
}

void register_deciders(unsigned ranks) {
  if (!g_machine) return;
  g_simulator = new Simulator(ranks, *g_machine);
  if (g_machine->keeps_times) g_times = new ComputedTimes(ranks);
  g_simulator->use_times(g_times);
  pt2pt::g_message_decider = g_simulator;
  // The limits of the predicted machine hold, not that of this library.
  pt2pt::g_engine.flow.set_eager_local(
      std::max(g_machine->inside.eager_bytes, g_machine->between.eager_bytes));
  comm::g_meeting_decider = g_simulator;
  coll::g_early_exit_decider = g_simulator;
  rma::g_access_decider = g_simulator;
}

}  // namespace fgmpi::predict

const fgmpi::predict::PredictionHooks* fgmpi_prediction_hooks() {
  return fgmpi::predict::g_simulator ? &fgmpi::predict::kHooks : nullptr;
}
