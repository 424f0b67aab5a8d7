#include "peer/planning/shares.hpp"

#include <algorithm>

#include "peer/base/check.hpp"

namespace dedloc::planning {
namespace {

__extension__ using Wide = unsigned __int128;

// Bandwidths as integers of 1 KiB/s; at most 2²⁹, so that the sum of 1,024 of them is exact.
std::uint64_t weight_of(const Reducer& member, bool is_equal) {
    if (!member.is_reachable) return 0;
    if (is_equal) return 1;
    const double kibibytes = std::min(member.upload_bytes_per_second / 1024.0, 0x1p29);
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(kibibytes));
}

}  // namespace

std::vector<std::uint64_t> part_boundaries(std::uint64_t elements,
                                           std::span<const Reducer> members) {
    const bool is_equal = std::any_of(members.begin(), members.end(), [](const Reducer& member) {
        return member.is_reachable && !(member.upload_bytes_per_second > 0);
    });
    std::uint64_t total = 0;
    for (const Reducer& member : members) total += weight_of(member, is_equal);
    DEDLOC_CHECK(total > 0, "somebody must be reachable to reduce", members.size());
    std::vector<std::uint64_t> boundaries{0};
    std::uint64_t weight = 0;
    for (const Reducer& member : members) {
        weight += weight_of(member, is_equal);
        // elements × weight / total without overflow: quotient and remainder apart.
        const std::uint64_t whole = elements / total;
        const std::uint64_t rest = elements % total;
        boundaries.push_back(whole * weight +
                             static_cast<std::uint64_t>(static_cast<Wide>(rest) * weight / total));
    }
    return boundaries;
}

}  // namespace dedloc::planning
