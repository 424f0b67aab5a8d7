// fault_of() checks each field of the rules against limits.hpp first, then the timeouts. It reports
// the first fault only, as a sentence that begins with the field's name. A rule is refused if the
// protocol could not make progress with it, for example a window that is smaller than the largest
// bulk frame: such a frame would travel only on an idle link.
#include "peer/config.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "peer/wire/limits.hpp"

namespace dedloc {
namespace {

/// Payload of the largest bulk frame: a chunk or a leaf, whichever is longer.
constexpr std::uint64_t kMaxBulk =
    std::max<std::uint64_t>(wire::kLeafBytes, wire::kChunkElements * sizeof(float));
/// Bound on memory: 64 averages take as much as 21 states.
constexpr std::uint32_t kMaxKeptAverages = 64;
constexpr std::uint32_t kMaxStateVectors = 8;

std::optional<std::string> fault_of_durations(const RoundRules& rules) {
    const auto none = Duration{0};
    if (rules.heartbeat <= none) return "heartbeat has to be longer than 0";
    if (rules.failure_timeout < 2 * rules.heartbeat) {
        return "failure_timeout has to be at least two heartbeats, "
               "or one late heartbeat looks like a failure";
    }
    if (rules.election_pause <= none) return "election_pause has to be longer than 0";
    if (rules.join_timeout <= none) return "join_timeout has to be longer than 0";
    if (rules.stall_timeout <= none) return "stall_timeout has to be longer than 0";
    if (rules.round_timeout <= none) return "round_timeout has to be longer than 0";
    if (!std::isfinite(rules.round_timeout_factor) || rules.round_timeout_factor < 1) {
        return "round_timeout_factor has to be at least 1";
    }
    if (rules.leave_limit < none) return "leave_limit has to be at least 0";
    return {};
}

}  // namespace

std::optional<std::string> fault_of(const RoundRules& rules) {
    if (rules.elements == 0 || rules.elements > wire::kMaxElements) {
        return "elements has to be from 1 to " + std::to_string(wire::kMaxElements);
    }
    if (rules.state_vectors == 0 || rules.state_vectors > kMaxStateVectors) {
        return "state_vectors has to be from 1 to " + std::to_string(kMaxStateVectors);
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
