// Operations that programs make with MPI_Op_create: their handles, and calls of their functions.
//
// Thread rule: one thread. Functions of programs run on the host stack, which is large, and may not
// call MPI functions that block. Invariant: a handle in use is an operation that some rank has made
// and not freed.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/status.h"
#include "datatype/datatype.h"

namespace fgmpi::datatype {

/// The forms of a program's function.
enum class OpForm : uint8_t {
  kSmall,  ///< MPI_User_function: counts are int
  kLarge,  ///< MPI_User_function_c
  kState,  ///< OpFunctionWithState
  kCxx     ///< a function of the C++ binding, which a function of that binding calls
};
using AnyFunction = void (*)();
/// MPIX_User_function_x of MPICH 5.0: the last argument is the program's.
using OpFunctionWithState = void(void* in, void* inout, MPI_Count, MPI_Datatype, void* state);

/// Makes an operation. Errors: MPI_ERR_ARG for a null function.
Status create_op(AnyFunction function, bool large, bool commutative, MPI_Op* op);
/// Makes an operation whose function gets `state`. `destructor`, if there is one, is called with it
/// once the operation is freed and no reduction uses it. Errors: MPI_ERR_ARG for a null function.
Status create_op(OpFunctionWithState* function, void (*destructor)(void* state), void* state,
                 bool commutative, MPI_Op* op);
/// Frees an operation of the program and sets *op to MPI_OP_NULL; reductions under way go on with
/// it. Errors: MPI_ERR_OP for an operation that is predefined, null or unknown.
Status free_op(MPI_Op* op);
/// Errors: MPI_ERR_OP.
Status find_commutative(MPI_Op op, int* commutative);
/// Makes `op` one of the C++ binding: `caller` calls its function with the arguments (in, inout,
/// int count, type, function).
void set_cxx_op(MPI_Op op, AnyFunction caller);

/// True for operations of programs, until the last reduction that uses them is complete.
bool is_user_op(MPI_Op op);
/// REQUIRES: is_user_op(op).
bool is_commutative_user_op(MPI_Op op);
/// Calls the program's function on `count` elements. REQUIRES: is_user_op(op), count > 0.
void call_user_op(MPI_Op op, const void* in, void* inout, int64_t count, const Type& type);
/// Keep an operation for a reduction that is under way, although the program may free it. REQUIRES:
/// is_user_op(op).
void retain_user_op(MPI_Op op);
void release_user_op(MPI_Op op);

}  // namespace fgmpi::datatype
