// Shares become millionths of their sum, each rounded by itself, so the whole weights add up to
// kMaxSourceWeight only about.
#include "peer/formats/source_spec.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "peer/base/check.hpp"
#include "peer/base/text.hpp"

namespace dedloc::formats {

bool is_source_name(std::string_view name) {
    return name.size() <= kMaxSourceName && is_made_of_letters(name, "-_");
}

std::vector<std::uint64_t> whole_weights(std::span<const double> shares) {
    DEDLOC_CHECK(std::ranges::all_of(shares, [](double s) { return std::isfinite(s) && s >= 0; }),
                 "a share is a finite number of at least 0");
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    DEDLOC_CHECK(sum > 0 && std::isfinite(sum), "one share is above 0", sum);
    std::vector<std::uint64_t> weights;
    for (const double share : shares) {
        const double scaled = std::round(share / sum * kMaxSourceWeight);
        const auto whole = static_cast<std::uint64_t>(scaled);
        weights.push_back(share > 0 ? std::max<std::uint64_t>(1, whole) : 0);
    }
    return weights;
}

}  // namespace dedloc::formats
