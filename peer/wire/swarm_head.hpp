// The swarm's head: how far a run has come and where its backbones can be dialled. A backbone that
// holds the project's key publishes it in the DHT as a mutable item (BEP 44), which is signed with
// that key and has the run as its salt. A peer that finds it needs to trust the project's key only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::wire {

/// What is published of a run.
struct SwarmHead {
    RunId run;                        ///< the run that this is the head of
    std::uint64_t generation = 0;     ///< the present generation
    StepIndex step;                   ///< updates so far
    Digest state;                     ///< the state after `step` updates
    std::vector<Endpoint> backbones;  ///< numeric hosts; at most kMaxHeadEndpoints
    bool operator==(const SwarmHead&) const = default;
};

/// The head as at most kMaxHeadBytes. Requires the bounds of limits.hpp (DEDLOC_CHECK).
Buffer encode(const SwarmHead& head);
/// The head in these bytes. Untrusted input: nothing for bytes that encode() cannot produce.
std::optional<SwarmHead> decode_swarm_head(std::span<const std::byte> bytes);

/// BEP 44's sequence number: it ascends with the generation, then with the step, and does not
/// depend on a clock. Generations above 2²² and steps above 2⁴⁰ − 1 count as these limits.
std::int64_t sequence_of(const SwarmHead& head);
/// BEP 44's salt: the first 20 bytes of the run id, so that runs of one project have items of their
/// own.
std::string salt_of(const RunId& run);

}  // namespace dedloc::wire
