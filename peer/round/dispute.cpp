// Compares bits, not numbers: a reducer sends every receiver the same ones.
#include "peer/round/dispute.hpp"

#include <algorithm>
#include <cstring>

namespace dedloc::round {

std::vector<PeerKey> Dispute::liars(std::span<const float> decided) const {
    const std::span<const float> ours{*average_};
    std::vector<PeerKey> liars;
    if (ours.size() != decided.size()) return liars;
    for (const Reduction::Part& part : parts_) {
        const auto here = ours.subspan(part.first, part.elements);
        const auto there = decided.subspan(part.first, part.elements);
        const bool is_equal = std::memcmp(here.data(), there.data(), here.size_bytes()) == 0;
        if (!is_equal && !std::ranges::count(liars, part.reducer)) liars.push_back(part.reducer);
    }
    return liars;
}

}  // namespace dedloc::round
