// Functions that all launchers use; plain C++.
#pragma once

#include <bit>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/check.hpp"
#include "kernels/cuda/body.hpp"
#include "kernels/cuda/device_span.hpp"
#include "kernels/cuda/device_table.hpp"
#include "kernels/cuda/error.hpp"
#include "kernels/cuda/stream.hpp"
#include "kernels/cuda/table_sums.hpp"

namespace dedloc::kernels::cuda {

/// Enqueues a body's blocks; does nothing if there are none. `what` names the operation in errors.
template <class Body>
void enqueue(const Body& body, StreamView stream, const char* what) {
    DEDLOC_KERNEL_REQUIRE(body.blocks() <= INT_MAX, "more elements than a launch can take",
                          static_cast<double>(body.blocks()));
    if (body.blocks() > 0) check_cuda(launch(body, stream.raw()), "the launch", what);
}

/// Calls call(std::true_type{}) if packs at all these addresses can be read in one load, else
/// call(std::false_type{}).
template <class Call, class... T>
void for_alignment(const Call& call, DeviceSpan<T>... spans) {
    if ((is_aligned(spans.data()) && ...)) {
        call(std::true_type{});
    } else {
        call(std::false_type{});
    }
}

/// The workspace as doubles. Requires at least `bytes` bytes, aligned to 8 (aborts).
inline double* doubles_of(DeviceSpan<std::byte> workspace, std::size_t bytes) {
    DEDLOC_KERNEL_REQUIRE(workspace.size() >= bytes, "the workspace is too small",
                          static_cast<double>(workspace.size()), static_cast<double>(bytes));
    const auto address = std::bit_cast<std::uintptr_t>(workspace.data());
    DEDLOC_KERNEL_REQUIRE(address % alignof(double) == 0,
                          "a workspace begins at a multiple of 8 bytes");
    return std::bit_cast<double*>(address);
}

/// Aborts if a kernel's inputs or outputs overlap its workspace.
template <class... T>
void require_apart(DeviceSpan<std::byte> workspace, DeviceSpan<T>... spans) {
    DEDLOC_KERNEL_REQUIRE((!overlap(workspace.addresses(), spans.addresses()) && ...),
                          "the workspace overlaps what is computed");
}

/// Aborts unless the span is one word.
inline void require_flag(DeviceFlag flag) {
    DEDLOC_KERNEL_REQUIRE(flag.size() == 1, "a flag is one word", static_cast<double>(flag.size()));
}

/// Aborts unless the span holds one number.
template <class T>
void require_scalar(DeviceSpan<T> place) {
    DEDLOC_KERNEL_REQUIRE(place.size() == 1, "a result needs a place for one number",
                          static_cast<double>(place.size()));
}

/// Bytes of workspace for kSums sums of each segment, then one Factor for each tensor.
template <unsigned kSums, class Factor>
std::size_t table_workspace_bytes(const DeviceTable& table) {
    return kSums * table.segments.size() * sizeof(double) + table.tensors.size() * sizeof(Factor);
}

/// The table as bodies see it, for work on these vectors.
template <class... T>
TableView view_of(const DeviceTable& table, DeviceSpan<T>... vectors) {
    return {.segments = table.segments.data(),
            .tensors = table.tensors.data(),
            .segment_count = table.segments.size(),
            .tensor_count = table.tensors.size(),
            .is_aligned = (is_aligned(vectors.data()) && ...)};
}

}  // namespace dedloc::kernels::cuda
