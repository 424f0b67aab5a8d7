#include "kernels/quantize.hpp"

#include <atomic>

#include "kernels/bfloat_lanes.hpp"
#include "kernels/check.hpp"
#include "kernels/half_lanes.hpp"
#include "kernels/int8_lanes.hpp"
#include "kernels/reduction.hpp"
#include "kernels/requirements.hpp"

namespace dedloc::kernels {

template <class Short>
void require_quantize(std::span<const float> values, std::span<const float> error,
                      std::span<const Short> out) {
    DEDLOC_KERNEL_REQUIRE(values.size() == out.size(),
                          "the encoded vector has another length than the values",
                          static_cast<double>(out.size()), static_cast<double>(values.size()));
    DEDLOC_KERNEL_REQUIRE(!overlap(values, out) && !overlap(error, out) && !overlap(values, error),
                          "values, errors and the encoded vector overlap");
}

template void require_quantize(std::span<const float>, std::span<const float>,
                               std::span<const Half>);
template void require_quantize(std::span<const float>, std::span<const float>,
                               std::span<const Bfloat16>);

void require_quantize(std::span<const float> values, std::span<const float> error,
                      ConstInt8Blocks out) {
    require_quantize(values, error, out.codes);
    DEDLOC_KERNEL_REQUIRE(
        out.exponents.size() == int8_block_count(values.size()), "every 64 codes need an exponent",
        static_cast<double>(out.exponents.size()), static_cast<double>(values.size()));
    DEDLOC_KERNEL_REQUIRE(!overlap(values, out.exponents) && !overlap(error, out.exponents) &&
                              !overlap(out.codes, out.exponents),
                          "values, errors and the encoded vector overlap");
}

void require_feedback(std::span<const float> values, std::span<const float> error) {
    DEDLOC_KERNEL_REQUIRE(values.size() == error.size(), "every value needs its error",
                          static_cast<double>(values.size()), static_cast<double>(error.size()));
}

namespace {

template <bool kFeedback>
std::uint32_t shorten(InstructionSet set, const float* values, float* error, Bfloat16* out,
                      std::size_t count) {
    if constexpr (kFeedback) return shorten_keeping_errors(set, values, error, out, count);
    return shorten_to_bfloats(set, values, out, count);
}

template <bool kFeedback>
std::uint32_t shorten(InstructionSet set, const float* values, float* error, Half* out,
                      std::size_t count) {
    if constexpr (kFeedback) return shorten_to_halves(set, values, error, out, count);
    return shorten_to_halves(set, {.values = values}, out, count);
}

template <class Short, bool kFeedback>
bool shorten_all(std::span<const float> values, std::span<float> error, std::span<Short> out,
                 const Workers& workers) {
    require_quantize<Short>(values, error, out);
    std::atomic<bool> is_every_one_finite{true};
    for_each_segment(values.size(), workers, [&](std::size_t first, std::size_t count) {
        float* const errors = kFeedback ? error.data() + first : nullptr;
        const std::uint32_t bad = shorten<kFeedback>(
            workers.instruction_set(), values.data() + first, errors, out.data() + first, count);
        if (bad != 0) is_every_one_finite = false;
    });
    return is_every_one_finite;
}

template <bool kFeedback>
bool encode_all(std::span<const float> values, std::span<float> error, Int8Blocks out,
                const Workers& workers) {
    require_quantize(values, error, ConstInt8Blocks{out.codes, out.exponents});
    std::atomic<bool> is_every_one_finite{true};
    for_each_segment(values.size(), workers, [&](std::size_t first, std::size_t count) {
        const InstructionSet set = workers.instruction_set();
        std::int8_t* const codes = out.codes.data() + first;
        std::uint8_t* const exponents = out.exponents.data() + first / kInt8BlockElements;
        const float* const x = values.data() + first;
        float* const errors = kFeedback ? error.data() + first : nullptr;
        const std::uint32_t bad =
            kFeedback ? shorten_keeping_errors(set, {.values = x, .owed = errors}, codes, exponents,
                                               errors, count)
                      : shorten_to_int8(set, {.values = x}, codes, exponents, count);
        if (bad != 0) is_every_one_finite = false;
    });
    return is_every_one_finite;
}

}  // namespace

bool quantize(std::span<const float> values, std::span<Half> out, const Workers& workers) {
    return shorten_all<Half, false>(values, {}, out, workers);
}

bool quantize(std::span<const float> values, std::span<Bfloat16> out, const Workers& workers) {
    return shorten_all<Bfloat16, false>(values, {}, out, workers);
}

bool quantize(std::span<const float> values, Int8Blocks out, const Workers& workers) {
    return encode_all<false>(values, {}, out, workers);
}

bool quantize_with_feedback(std::span<const float> values, std::span<float> error,
                            std::span<Half> out, const Workers& workers) {
    require_feedback(values, error);
    return shorten_all<Half, true>(values, error, out, workers);
}

bool quantize_with_feedback(std::span<const float> values, std::span<float> error,
                            std::span<Bfloat16> out, const Workers& workers) {
    require_feedback(values, error);
    return shorten_all<Bfloat16, true>(values, error, out, workers);
}

bool quantize_with_feedback(std::span<const float> values, std::span<float> error, Int8Blocks out,
                            const Workers& workers) {
    require_feedback(values, error);
    return encode_all<true>(values, error, out, workers);
}

}  // namespace dedloc::kernels
