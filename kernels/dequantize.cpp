#include "kernels/dequantize.hpp"

#include <algorithm>
#include <array>
#include <atomic>

#include "kernels/bfloat_lanes.hpp"
#include "kernels/check.hpp"
#include "kernels/half_lanes.hpp"
#include "kernels/int8_lanes.hpp"
#include "kernels/reduction.hpp"
#include "kernels/requirements.hpp"
#include "kernels/stream.hpp"

namespace dedloc::kernels {
namespace {

/// Elements in a block of 16 KiB that is streamed to memory; a multiple of the int8 block.
constexpr std::size_t kBlock = 4096;

/// Calls widen(first, out, count) block by block, and streams the results if `out` is large. widen
/// returns the number of bad values; `values` is its input, which is prefetched.
template <class Element, class Widen>
bool widen_all(std::span<const Element> values, std::span<float> out, const Workers& workers,
               const Widen& widen) {
    const bool is_streamed = out.size_bytes() >= kStreamedBytes;
    std::atomic<bool> is_every_one_finite{true};
    for_each_segment(out.size(), workers, [&](std::size_t begin, std::size_t length) {
        alignas(64) std::array<float, kBlock> block;
        std::uint32_t bad = 0;
        const std::size_t end = begin + length;
        for (std::size_t first = begin; first < end; first += kBlock) {
            const std::size_t count = std::min(kBlock, end - first);
            float* const place = out.data() + first;
            bad += widen(first, is_streamed ? block.data() : place, count);
            if (!is_streamed) continue;
            const std::size_t next = first + count;
            const auto ahead = values.subspan(next, std::min(kBlock, end - next));
            stream_floats(place, block.data(), count, std::as_bytes(ahead));
        }
        if (is_streamed) stream_fence();
        if (bad != 0) is_every_one_finite = false;
    });
    return is_every_one_finite;
}

}  // namespace

template <class Short>
void require_dequantize(std::span<const Short> values, std::span<const float> out) {
    DEDLOC_KERNEL_REQUIRE(values.size() == out.size(),
                          "the decoded vector has another length than the encoded one",
                          static_cast<double>(out.size()), static_cast<double>(values.size()));
    DEDLOC_KERNEL_REQUIRE(!overlap(values, out), "the decoded vector overlaps the encoded one");
}

template void require_dequantize(std::span<const Half>, std::span<const float>);
template void require_dequantize(std::span<const Bfloat16>, std::span<const float>);

void require_dequantize(ConstInt8Blocks values, std::span<const float> out) {
    DEDLOC_KERNEL_REQUIRE(values.codes.size() == out.size(),
                          "the decoded vector has another length than the encoded one",
                          static_cast<double>(out.size()),
                          static_cast<double>(values.codes.size()));
    DEDLOC_KERNEL_REQUIRE(
        values.exponents.size() == int8_block_count(out.size()), "every 64 codes need an exponent",
        static_cast<double>(values.exponents.size()), static_cast<double>(out.size()));
    DEDLOC_KERNEL_REQUIRE(!overlap(values.codes, out) && !overlap(values.exponents, out),
                          "the decoded vector overlaps the encoded one");
}

bool dequantize(std::span<const Half> values, std::span<float> out, const Workers& workers) {
    require_dequantize<Half>(values, out);
    return widen_all(values, out, workers, [&](std::size_t first, float* to, std::size_t count) {
        return widen_halves(workers.instruction_set(), values.data() + first, to, count);
    });
}

bool dequantize(std::span<const Bfloat16> values, std::span<float> out, const Workers& workers) {
    require_dequantize<Bfloat16>(values, out);
    return widen_all(values, out, workers, [&](std::size_t first, float* to, std::size_t count) {
        return widen_bfloats(workers.instruction_set(), values.data() + first, to, count);
    });
}

bool dequantize(ConstInt8Blocks values, std::span<float> out, const Workers& workers) {
    require_dequantize(values, out);
    return widen_all(
        values.codes, out, workers, [&](std::size_t first, float* to, std::size_t count) {
            return widen_int8(workers.instruction_set(), values.codes.data() + first,
                              values.exponents.data() + first / kInt8BlockElements, to, count);
        });
}

}  // namespace dedloc::kernels
