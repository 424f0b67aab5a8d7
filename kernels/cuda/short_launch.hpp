// Launches of the bodies that encode and decode, shared by the launchers of quantize.hpp,
// dequantize.hpp, half_lanes.hpp, bfloat_lanes.hpp and int8_lanes.hpp. Plain C++.
#pragma once

#include <cstddef>

#include "kernels/check.hpp"
#include "kernels/cuda/dequantize_body.hpp"
#include "kernels/cuda/enqueue.hpp"
#include "kernels/cuda/quantize_body.hpp"
#include "kernels/requirements.hpp"

namespace dedloc::kernels::cuda {

/// Rounds `count` elements to fp16 or bf16; `what` names the operation in errors.
template <Input kInput, bool kWrites, bool kKeeps, class Short>
void enqueue_rounding(const Rounding<Short>& rounding, std::size_t count, StreamView stream,
                      const char* what) {
    for_alignment(
        [&](auto is_aligned) {
            using Row = RoundRow<Short, kInput, kWrites, kKeeps, decltype(is_aligned)::value>;
            enqueue(EachElement<Row>{Row{rounding}, count}, stream, what);
        },
        DeviceSpan{rounding.values, count}, DeviceSpan{rounding.owed, count},
        DeviceSpan{rounding.out, count}, DeviceSpan{rounding.error, count});
}

/// Encodes to int8.
template <bool kAdds, bool kWrites, bool kKeeps>
void enqueue_encoding(const Int8Encoding& encoding, StreamView stream, const char* what) {
    const std::size_t count = encoding.count;
    for_alignment(
        [&](auto is_aligned) {
            using Body = EncodeInt8Body<kAdds, kWrites, kKeeps, decltype(is_aligned)::value>;
            enqueue(Body{encoding}, stream, what);
        },
        DeviceSpan{encoding.values, count}, DeviceSpan{encoding.owed, count},
        DeviceSpan{encoding.codes, count}, DeviceSpan{encoding.error, count});
}

/// Decodes `count` elements of fp16 or bf16.
template <Widened kUse, class Short>
void enqueue_widening(const Widening<Short>& widening, std::size_t count, StreamView stream,
                      const char* what) {
    for_alignment(
        [&](auto is_aligned) {
            using Row = WidenRow<Short, kUse, decltype(is_aligned)::value>;
            enqueue(EachElement<Row>{Row{widening}, count}, stream, what);
        },
        DeviceSpan{widening.values, count}, DeviceSpan{widening.out, count});
}

/// Decodes `count` elements of int8; with kAdds it adds them to the output.
template <bool kAdds>
void enqueue_widening(const Int8Widening& widening, std::size_t count, StreamView stream,
                      const char* what) {
    for_alignment(
        [&](auto is_aligned) {
            using Row = WidenInt8Row<kAdds, decltype(is_aligned)::value>;
            enqueue(EachElement<Row>{Row{widening}, count}, stream, what);
        },
        DeviceSpan{widening.codes, count}, DeviceSpan{widening.out, count});
}

/// Aborts unless every value has its rounding error and the two do not overlap.
inline void require_errors(DeviceSpan<const float> values, DeviceSpan<const float> error) {
    require_feedback(values.addresses(), error.addresses());
    DEDLOC_KERNEL_REQUIRE(!overlap(values.addresses(), error.addresses()),
                          "values and errors overlap");
}

}  // namespace dedloc::kernels::cuda
