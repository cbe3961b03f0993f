// Generalized requests: the user's own operations behind MPI_Request.

#include <utility>

#include "pt2pt/pt2pt.h"

namespace fgmpi::pt2pt {

namespace {

// Signatures of Fortran's functions: all arguments by address, the error code as the last one.
using FortranQuery = void(void*, MPI_Fint*, MPI_Fint*);
using FortranFree = void(void*, MPI_Fint*);
using FortranCancel = void(void*, MPI_Fint*, MPI_Fint*);

/// Converts a function pointer to one with Fortran's signature.
template <class To, class From>
To* as(From* function) {
  return reinterpret_cast<To*>(reinterpret_cast<void (*)()>(function));
}

class GeneralizedRequest final : public Request {
 public:
  GeneralizedRequest(const GeneralizedCalls& calls, const char* name) : calls_(calls) {
    call = name;
    polled = calls.poll != nullptr;
    external = calls.poll == nullptr;  // a thread of the program may complete it
  }
  ~GeneralizedRequest() override { release(); }
  int release() override {
    auto* function = std::exchange(calls_.free, nullptr);
    if (!function) return MPI_SUCCESS;
    const sched::UserCallback in_callback;
    if (!fortran) return function(calls_.state);
    MPI_Fint code = 0;
    as<FortranFree>(function)(calls_.state, &code);
    return code;
  }
  void cancel() override {
    if (!calls_.cancel) return;
    const sched::UserCallback in_callback;
    if (fortran) {
      MPI_Fint flag = complete_, code = 0;
      as<FortranCancel>(calls_.cancel)(calls_.state, &flag, &code);
      cancel_code_ = code;
    } else {
      cancel_code_ = calls_.cancel(calls_.state, complete_);
    }
  }
  int cancel_code() const override { return cancel_code_; }
  void progress() override {
    MPI_Status status = empty();
    const sched::UserCallback in_callback;
    if (calls_.poll) calls_.poll(calls_.state, &status);
  }
  int fill_status(MPI_Status* status) override {
    MPI_Status own = empty();
    if (!status) status = &own;
    int error = status->MPI_ERROR;
    *status = empty();
    status->MPI_ERROR = error;
    if (!calls_.query) return MPI_SUCCESS;
    const sched::UserCallback in_callback;
    if (!fortran) return calls_.query(calls_.state, status);
    MPI_Fint code = 0;
    as<FortranQuery>(calls_.query)(calls_.state, reinterpret_cast<MPI_Fint*>(status), &code);
    return code;
  }
  bool fortran = false;

 private:
  static MPI_Status empty() {
    MPI_Status s{};
    s.MPI_SOURCE = MPI_ANY_SOURCE;
    s.MPI_TAG = MPI_ANY_TAG;
    return s;
  }
  GeneralizedCalls calls_;
  int cancel_code_ = MPI_SUCCESS;
};

}  // namespace

Request* generalized_start(const GeneralizedCalls& calls, const char* call) {
  return new GeneralizedRequest(calls, call);
}

Status generalized_complete(Request* request, int* code) {
  auto* generalized = dynamic_cast<GeneralizedRequest*>(request);
  if (!generalized)
    return error(MPI_ERR_REQUEST, "the request of %s is not a generalized request", request->call);
  if (generalized->complete())
    return error(MPI_ERR_REQUEST, "the generalized request is complete already");
  *code = generalized->freed ? generalized->release() : MPI_SUCCESS;
  generalized->set_complete();
  return {};
}

void generalized_fortran(Request* request) {
  if (auto* generalized = dynamic_cast<GeneralizedRequest*>(request)) generalized->fortran = true;
}

}  // namespace fgmpi::pt2pt
