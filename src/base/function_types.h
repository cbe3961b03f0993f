// SecondParameter<F>: a part of a function's type, for functions of the host's mpi.h whose types
// differ between versions of MPICH.
#pragma once

namespace fgmpi {

template <class F>
struct ParametersOf;
template <class Result, class First, class Second, class... More>
struct ParametersOf<Result(First, Second, More...)> {
  using SecondType = Second;
};

/// The type of the second parameter of a function type.
template <class F>
using SecondParameter = typename ParametersOf<F>::SecondType;

}  // namespace fgmpi
