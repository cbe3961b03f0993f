// The table of programs' operations.

#include "datatype/user_op.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "datatype/type_handles.h"
#include "host/handle_bits.h"
#include "proclet-sched/coroutine/deputies.h"
#include "proclet-sched/sched.h"

namespace fgmpi::datatype {
namespace {

using CxxCaller = void(const void*, void*, int, MPI_Datatype, AnyFunction);

struct UserOp {
  AnyFunction function = nullptr;  ///< nullptr: free
  OpForm form = OpForm::kSmall;
  bool commutative = false;
  bool freed = false;  ///< by the program, while it is retained
  uint32_t retained = 0;
  void* state = nullptr;                ///< the last argument of an OpFunctionWithState
  void (*destructor)(void*) = nullptr;  ///< called with `state` at the end
};
struct OpTable {
  std::vector<UserOp> ops;
  std::vector<uint32_t> free;
  CxxCaller* cxx_caller = nullptr;  ///< the C++ binding's, the same for all operations
};
OpTable& op_table() {
  static auto* made = new OpTable;
  return *made;
}

constexpr uint32_t kUserOp = host::handle_base(host::HandleKind::kDirect, host::HandleObject::kOp);

/// The operation, also one that the program has freed while it is retained; nullptr where there is
/// none.
UserOp* find(MPI_Op op) {
  const uint32_t index = host::handle_index(op);
  if ((static_cast<uint32_t>(op) & host::kHandleTypeMask) != kUserOp ||
      index >= op_table().ops.size())
    return nullptr;
  UserOp* found = &op_table().ops[index];
  return found->function ? found : nullptr;
}

void drop(MPI_Op op) {
  const UserOp dropped = std::exchange(*find(op), {});
  op_table().free.push_back(host::handle_index(op));
  if (!dropped.destructor) return;
  const sched::UserCallback in_callback;
  sched::call_for_program([&] { dropped.destructor(dropped.state); });
}

/// The handle that a program's function gets for a type: the one that the call was given, or one
/// for the time of the call where the program has freed that meanwhile.
class CallbackHandle {
 public:
  explicit CallbackHandle(const Type& type) : handle_(type.handle()) {
    DerivedType* derived = type.derived();
    if (!derived || find_derived(handle_).type == derived) return;
    made_ = make_handle(type, true, &handle_).ok();
  }
  ~CallbackHandle() {
    if (made_) free_handle(handle_);
  }
  CallbackHandle(const CallbackHandle&) = delete;
  CallbackHandle& operator=(const CallbackHandle&) = delete;
  MPI_Datatype get() const { return handle_; }

 private:
  MPI_Datatype handle_;
  bool made_ = false;
};

void call_function(const UserOp& op, const void* in, void* inout, int64_t count,
                   MPI_Datatype type) {
  switch (op.form) {
    case OpForm::kLarge: {
      MPI_Count n = count;
      reinterpret_cast<MPI_User_function_c*>(op.function)(const_cast<void*>(in), inout, &n, &type);
      return;
    }
    case OpForm::kSmall: {
      int n = static_cast<int>(count);
      reinterpret_cast<MPI_User_function*>(op.function)(const_cast<void*>(in), inout, &n, &type);
      return;
    }
    case OpForm::kState:
      reinterpret_cast<OpFunctionWithState*>(op.function)(const_cast<void*>(in), inout, count, type,
                                                          op.state);
      return;
    case OpForm::kCxx:
      op_table().cxx_caller(in, inout, static_cast<int>(count), type, op.function);
      return;
  }
}

Status not_of_program(MPI_Op op, const char* allowed) {
  return error(MPI_ERR_OP, "op is 0x%08x; allowed are %s", static_cast<unsigned>(op), allowed);
}

}  // namespace

Status create_op(AnyFunction function, bool large, bool commutative, MPI_Op* op) {
  if (!function) return error(MPI_ERR_ARG, "user_fn is a null pointer; allowed is a function");
  OpTable& t = op_table();
  if (t.free.empty()) {
    if (t.ops.size() > host::kHandleIndexMask)
      return error(MPI_ERR_INTERN,
                   "a process has %zu operations, which is the greatest number; "
                   "allowed are new ones after MPI_Op_free",
                   t.ops.size());
    t.free.push_back(static_cast<uint32_t>(t.ops.size()));
    t.ops.emplace_back();
  }
  const uint32_t index = t.free.back();
  t.free.pop_back();
  t.ops[index] = {function, large ? OpForm::kLarge : OpForm::kSmall, commutative};
  *op = static_cast<MPI_Op>(kUserOp | index);
  return {};
}

Status create_op(OpFunctionWithState* function, void (*destructor)(void*), void* state,
                 bool commutative, MPI_Op* op) {
  FGMPI_TRY(create_op(reinterpret_cast<AnyFunction>(function), true, commutative, op));
  UserOp* made = find(*op);
  made->form = OpForm::kState;
  made->state = state;
  made->destructor = destructor;
  return {};
}

Status free_op(MPI_Op* op) {
  UserOp* found = find(*op);
  if (!found || found->freed) return not_of_program(*op, "operations made with MPI_Op_create");
  if (found->retained > 0)
    found->freed = true;
  else
    drop(*op);
  *op = MPI_OP_NULL;
  return {};
}

Status find_commutative(MPI_Op op, int* commutative) {
  if (is_user_op(op))
    *commutative = find(op)->commutative;
  else if (host::is_builtin(op, host::HandleObject::kOp))
    *commutative = 1;
  else
    return not_of_program(op, "predefined operations and those made with MPI_Op_create");
  return {};
}

void set_cxx_op(MPI_Op op, AnyFunction caller) {
  op_table().cxx_caller = reinterpret_cast<CxxCaller*>(caller);
  if (UserOp* found = find(op)) found->form = OpForm::kCxx;
}

bool is_user_op(MPI_Op op) { return find(op) != nullptr; }

bool is_commutative_user_op(MPI_Op op) { return find(op)->commutative; }

void call_user_op(MPI_Op op, const void* in, void* inout, int64_t count, const Type& type) {
  const UserOp found = *find(op);  // the function may make operations
  const CallbackHandle handle(type);
  const sched::UserCallback in_callback;
  sched::call_for_program([&] {
    const bool large = found.form == OpForm::kLarge || found.form == OpForm::kState;
    const int64_t most = large ? count : int64_t{1} << 30;
    for (int64_t first = 0; first < count; first += most) {
      const int64_t offset = first * type.extent();
      call_function(found, static_cast<const char*>(in) + offset,
                    static_cast<char*>(inout) + offset, std::min(most, count - first),
                    handle.get());
    }
  });
}

void retain_user_op(MPI_Op op) { ++find(op)->retained; }

void release_user_op(MPI_Op op) {
  UserOp* found = find(op);
  FGMPI_CHECK(found && found->retained > 0);
  if (--found->retained == 0 && found->freed) drop(op);
}

}  // namespace fgmpi::datatype
