// The swarm's head: the project's word on how far a run is and where its backbone can be dialled.
// A backbone that holds the project's key publishes it in the DHT as a mutable item (BEP 44) under
// that key, with the run as the salt; whoever finds it can believe it without knowing anybody.
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

struct SwarmHead {
    RunId run;
    std::uint64_t generation = 0;
    StepIndex step;
    Digest state;                     ///< after `step` updates
    std::vector<Endpoint> backbones;  ///< numeric hosts; at most kMaxHeadEndpoints
    bool operator==(const SwarmHead&) const = default;
};

/// At most kMaxHeadBytes. Requires the bounds of limits.hpp (DEDLOC_CHECK).
Buffer encode(const SwarmHead& head);
/// Untrusted input: nothing for anything that encode() does not make.
std::optional<SwarmHead> decode_swarm_head(std::span<const std::byte> bytes);

/// BEP 44's sequence number: a later generation, then a later step, has a higher one, whatever a
/// clock says. Generations above 2²² and steps above 2⁴⁰ count as these.
std::int64_t sequence_of(const SwarmHead& head);
/// BEP 44's salt: one for each run of a project.
std::string salt_of(const RunId& run);

}  // namespace dedloc::wire
