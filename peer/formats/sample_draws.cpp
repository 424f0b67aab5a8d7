// A generator is split by the four words of the peer's key and then by the step, so no two peers
// or steps share numbers. A source is drawn with one number below the sum of the weights: it falls
// into the range of one of them.
#include "peer/formats/sample_draws.hpp"

#include <cstring>

#include "peer/base/check.hpp"

namespace dedloc::formats {

Random step_random(std::uint64_t run_seed, const PeerKey& peer, StepIndex step) {
    Random random{run_seed};
    for (std::size_t at = 0; at < peer.bytes.size(); at += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, peer.bytes.data() + at, sizeof(word));
        random = random.split(word);
    }
    return random.split(step.value());
}

std::size_t draw_source(Random& random, std::span<const std::uint64_t> weights,
                        const SourceSet& present) {
    DEDLOC_CHECK(weights.size() <= present.size(), "sources are few", weights.size());
    const auto sum_of = [&](const auto& weight_of) {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < weights.size(); ++i) {
            if (present[i]) sum += weight_of(i);
        }
        return sum;
    };
    const auto given = [&](std::size_t i) { return weights[i]; };
    const bool is_used = sum_of(given) > 0;
    const auto weight_of = [&](std::size_t i) { return is_used ? weights[i] : 1; };
    std::uint64_t drawn = random.below(sum_of(weight_of));
    for (std::size_t i = 0; i < weights.size(); ++i) {
        if (!present[i]) continue;
        if (drawn < weight_of(i)) return i;
        drawn -= weight_of(i);
    }
    DEDLOC_CHECK(false, "a number below the sum of weights is a source's");
    return 0;
}

}  // namespace dedloc::formats
