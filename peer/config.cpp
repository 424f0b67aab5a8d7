// What the rules of a run must be for the protocol to make progress.
#include "peer/config.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "peer/wire/limits.hpp"

namespace dedloc {
namespace {

/// A chunk or a leaf, whichever is longer.
constexpr std::uint64_t kMaxBulk =
    std::max<std::uint64_t>(wire::kLeafBytes, wire::kChunkElements * sizeof(float));
/// So many averages are as long as a few states.
constexpr std::uint32_t kMaxKeptAverages = 64;

std::optional<std::string> fault_of_durations(const RoundRules& rules) {
    const auto none = Duration{0};
    if (rules.heartbeat <= none) return "heartbeat has to be longer than 0";
    if (rules.failure_timeout < 2 * rules.heartbeat) {
        return "silence has to be at least two heartbeats, or who has merely lost one is gone";
    }
    if (rules.election_pause <= none) return "election_pause has to be longer than 0";
    if (rules.join_timeout <= none) return "join_timeout has to be longer than 0";
    if (rules.stall_timeout <= none) return "stall_timeout has to be longer than 0";
    if (rules.round_timeout <= none) return "round_timeout has to be longer than 0";
    if (!std::isfinite(rules.round_timeout_factor) || rules.round_timeout_factor < 1) {
        return "round_timeout_factor has to be a number from 1 on";
    }
    if (rules.leave_limit < none) return "leave_limit must not be below 0";
    return {};
}

}  // namespace

std::optional<std::string> fault_of(const RoundRules& rules) {
    if (rules.elements == 0 || rules.elements > wire::kMaxElements) {
        return "elements has to be from 1 to " + std::to_string(wire::kMaxElements);
    }
    if (rules.target_batch.value() == 0 || rules.target_batch.value() > wire::kMaxTargetBatch) {
        return "target_batch has to be from 1 to " + std::to_string(wire::kMaxTargetBatch);
    }
    if (rules.max_samples_per_second == 0 || rules.max_samples_per_second > wire::kMaxSamples) {
        return "max_samples_per_second has to be from 1 to " + std::to_string(wire::kMaxSamples);
    }
    if (rules.last_step.value() > wire::kMaxStep) {
        return "last_step has to be at most " + std::to_string(wire::kMaxStep);
    }
    if (rules.window_bytes < kMaxBulk) {
        return "window_bytes has to be at least " + std::to_string(kMaxBulk) +
               ", the largest chunk or leaf";
    }
    if (rules.kept_averages > kMaxKeptAverages) {
        return "kept_averages has to be at most " + std::to_string(kMaxKeptAverages);
    }
    return fault_of_durations(rules);
}

VoterState first_memory(std::uint64_t generation, bool is_first_voter) {
    return {.generation = generation,
            .step = {},
            .may_vote = is_first_voter,
            .promised = {},
            .accepted_in = {},
            .accepted = {},
            .state = {}};
}

}  // namespace dedloc
