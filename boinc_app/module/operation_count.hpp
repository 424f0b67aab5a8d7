// Floating-point operations of operators, for credit.
#pragma once

#include <ATen/core/ivalue.h>

#include <vector>

namespace c10 {
class OperatorHandle;
}  // namespace c10

namespace dedloc::training::module {

/// Floating-point operations of a call, whose operands are the last values of the stack: those of
/// matrix products, convolutions and attention, as for the project's own networks; else 0. Counts
/// operators that libtorch computes as they are, so that none counts within another.
double operations_of(const c10::OperatorHandle& called, const std::vector<c10::IValue>& stack);

}  // namespace dedloc::training::module
