// Each segment is computed in blocks whose running sums stay in the first-level cache. A pass adds
// up to eight senders to a block; the first pass sets the sums, the last one divides them, and each
// element is added in the order of the members whatever the number of passes. The number of senders
// in a pass is a template parameter, so the inner loop is unrolled. A large result is computed in a
// local block and then stored past the caches.
#include "kernels/weighted_mean.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "kernels/check.hpp"
#include "kernels/exact_arithmetic.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stream.hpp"

namespace dedloc::kernels {
namespace {

/// Elements in a block: 8 KiB of running sums stay in the first-level cache between passes.
constexpr std::size_t kBlock = 2048;
/// Senders added in one pass: a processor cannot prefetch more streams than this.
constexpr std::size_t kMaxAtOnce = 8;

/// Adds kCount senders in their order. The first pass begins the sum, the last one divides it.
template <std::size_t kCount, bool kIsFirst, bool kIsLast>
struct AddSenders {
    DEDLOC_LOOP void run(float* sum, std::array<const float*, kCount> parts, std::size_t count,
                         float samples) {
        DEDLOC_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) {
            float next = kIsFirst ? parts[0][i] : sum[i] + parts[0][i];
            for (std::size_t k = 1; k < kCount; ++k) next += parts[k][i];
            sum[i] = kIsLast ? next / samples : next;
        }
    }
};

using Parts = std::span<const std::span<const float>>;

/// One pass over a block: elements [first, first + count) of these senders.
struct Pass {
    InstructionSet set;
    float* sum;
    Parts parts;
    std::size_t first;
    std::size_t count;
    float samples;
};

template <std::size_t kCount, bool kIsFirst, bool kIsLast>
void add_senders(const Pass& pass) {
    if constexpr (kCount > 1) {
        if (pass.parts.size() < kCount) return add_senders<kCount - 1, kIsFirst, kIsLast>(pass);
    }
    std::array<const float*, kCount> starts;
    for (std::size_t k = 0; k < kCount; ++k) starts[k] = pass.parts[k].data() + pass.first;
    run_for<AddSenders<kCount, kIsFirst, kIsLast>>(pass.set, pass.sum, starts, pass.count,
                                                   pass.samples);
}

/// Computes one block of the mean, in as few passes over the running sums as kMaxAtOnce allows.
void mean_of_block(Pass pass) {
    const Parts all = pass.parts;
    if (all.size() <= kMaxAtOnce) return add_senders<kMaxAtOnce, true, true>(pass);
    pass.parts = all.first(kMaxAtOnce);
    add_senders<kMaxAtOnce, true, false>(pass);
    std::size_t k = kMaxAtOnce;
    for (; k + kMaxAtOnce < all.size(); k += kMaxAtOnce) {
        pass.parts = all.subspan(k, kMaxAtOnce);
        add_senders<kMaxAtOnce, false, false>(pass);
    }
    pass.parts = all.subspan(k);
    add_senders<kMaxAtOnce, false, true>(pass);
}

/// Rounds to nearest-even in any thread. Volatile, or a compiler might convert before or after the
/// rounding mode is set.
float as_float(std::uint64_t total) {
    const ExactArithmetic exact;
    const volatile std::uint64_t whole = total;
    const volatile float rounded = static_cast<float>(whole);
    return rounded;
}

/// Checks the arguments. Returns the sum of the weights, by which the mean is divided.
float samples_of(Parts parts, std::span<const std::uint64_t> weights, std::span<const float> out) {
    DEDLOC_KERNEL_REQUIRE(!parts.empty(), "a mean needs at least one part");
    DEDLOC_KERNEL_REQUIRE(parts.size() == weights.size(), "every part needs its weight",
                          static_cast<double>(parts.size()), static_cast<double>(weights.size()));
    std::uint64_t total = 0;
    for (std::size_t k = 0; k < parts.size(); ++k) {
        DEDLOC_KERNEL_REQUIRE(parts[k].size() == out.size(),
                              "a part has another length than the mean", static_cast<double>(k),
                              static_cast<double>(parts[k].size()),
                              static_cast<double>(out.size()));
        DEDLOC_KERNEL_REQUIRE(!overlap(parts[k], out), "the mean overlaps a part",
                              static_cast<double>(k));
        DEDLOC_KERNEL_REQUIRE(weights[k] <= UINT64_MAX - total, "the weights overflow",
                              static_cast<double>(k));
        total += weights[k];
    }
    DEDLOC_KERNEL_REQUIRE(total > 0, "the weights of a mean add up to zero");
    return as_float(total);
}

}  // namespace

void weighted_mean(std::span<const std::span<const float>> parts,
                   std::span<const std::uint64_t> weights, std::span<float> out,
                   const Workers& workers) {
    const float samples = samples_of(parts, weights, out);
    const InstructionSet set = workers.instruction_set();
    const bool is_streamed = out.size_bytes() >= kStreamedBytes;
    for_each_segment(out.size(), workers, [&](std::size_t begin, std::size_t length) {
        alignas(64) std::array<float, kBlock> block;
        for (std::size_t first = begin; first < begin + length; first += kBlock) {
            const std::size_t count = std::min(kBlock, begin + length - first);
            float* const place = out.data() + first;
            float* const sum = is_streamed ? block.data() : place;
            mean_of_block({set, sum, parts, first, count, samples});
            if (is_streamed) stream_floats(place, sum, count);
        }
        if (is_streamed) stream_fence();
    });
}

}  // namespace dedloc::kernels
