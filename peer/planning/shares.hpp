// Cuts the vector into the parts of one round.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dedloc::planning {

/// One member of the round, in member order.
struct Reducer {
    bool is_reachable = false;           ///< outbound-only members reduce nothing
    double upload_bytes_per_second = 0;  ///< 0: not known
};

/// Boundaries of the parts: member k reduces [result[k], result[k + 1]).
///
/// Shares    in proportion to upload bandwidth when it is known of every reachable member, else
///           equal
/// Exact     integers and one division a member: the same bits everywhere; parts cover
///           [0, elements) once
/// Requires  at least one reachable member (DEDLOC_CHECK)
std::vector<std::uint64_t> part_boundaries(std::uint64_t elements,
                                           std::span<const Reducer> members);

}  // namespace dedloc::planning
