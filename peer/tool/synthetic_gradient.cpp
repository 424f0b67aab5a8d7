// Philox with a counter per four elements makes any part of a gradient computable on its own. Its
// key is a digest of the peer's key and the step. The low 8 bits of each word are dropped, so that
// the number is exact in fp32. The sum of a contribution is its gradient times its samples, and the
// mean is computed by the same kernel as in the swarm.
#include "peer/tool/synthetic_gradient.hpp"

#include <array>
#include <cstring>
#include <vector>

#include "kernels/weighted_mean.hpp"
#include "peer/base/check.hpp"
#include "peer/base/random.hpp"

namespace dedloc::tool {
namespace {

/// The generator's key for one gradient.
std::array<std::uint32_t, 2> generator_key(const PeerKey& peer, StepIndex step) {
    ByteWriter out;
    out.append(bytes_of("dedloc synthetic gradient 1\n"));
    out.append(peer.bytes);
    out.write(step.value());
    const Digest digest = blake2b(std::move(out).finish());
    std::array<std::uint32_t, 2> key{};
    std::memcpy(key.data(), digest.bytes.data(), sizeof key);
    return key;
}

/// Uses 24 bits, which fp32 represents exactly.
float number_of(std::uint32_t word) {
    return static_cast<float>(static_cast<std::int32_t>(word) >> 8) * 0x1p-23f;
}

}  // namespace

void fill_gradient(const PeerKey& peer, StepIndex step, std::span<float> out) {
    const auto key = generator_key(peer, step);
    for (std::size_t i = 0; i < out.size(); i += 4) {
        const std::uint64_t block = i / 4;
        const auto words = philox4x32(
            {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0, 0},
            key);
        for (std::size_t k = 0; k < 4 && i + k < out.size(); ++k) out[i + k] = number_of(words[k]);
    }
}

void scale_gradient(std::span<const float> gradient, Samples samples, std::span<float> sum) {
    DEDLOC_CHECK(gradient.size() == sum.size(), "the sum and the gradient differ in length",
                 sum.size());
    const auto factor = static_cast<float>(samples.value());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = factor * gradient[i];
}

FloatVector expected_average(const CommitRecord& record, std::uint64_t elements,
                             const StepsBefore& frozen) {
    std::vector<FloatVector> sums;
    std::vector<std::uint64_t> weights;
    for (const CommitLine& line : record.members) {
        if (line.samples == Samples{0}) continue;
        const auto before = frozen.find(line.peer);
        const StepIndex step{record.step.value() - (before == frozen.end() ? 0 : before->second)};
        FloatVector sum(elements);
        fill_gradient(line.peer, step, sum);
        scale_gradient(sum, line.samples, sum);
        sums.push_back(std::move(sum));
        weights.push_back(line.samples.value());
    }
    if (sums.empty()) return {};
    const std::vector<std::span<const float>> parts(sums.begin(), sums.end());
    FloatVector average(elements);
    kernels::weighted_mean(parts, weights, average);
    return average;
}

}  // namespace dedloc::tool
