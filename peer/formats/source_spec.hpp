// A source of a corpus: texts, pictures or tensors that a run draws a share of its samples from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "peer/wire/limits.hpp"

namespace dedloc::formats {

inline constexpr std::size_t kMaxSources = wire::kMaxSources;              ///< sources of a run
inline constexpr std::uint64_t kMaxSourceWeight = wire::kMaxSourceWeight;  ///< weight of a source
inline constexpr std::size_t kMaxSourceName = 40;     ///< bytes of a source's name
inline constexpr std::size_t kMaxLicenceBytes = 254;  ///< bytes of a source's licence note

/// One source. Its shards are those that name its index.
struct SourceSpec {
    std::string name;  ///< unique; letters, digits, - and _
    /// How often a sample comes from it, relative to the other sources' weights; 0: never, until
    /// the mixture is changed.
    std::uint64_t weight = 0;
    std::string licence;  ///< what may be done with its texts; empty: nothing is said
    bool operator==(const SourceSpec&) const = default;
};

/// A weight for each source of a run, as a mixture has them.
using SharedWeights = std::shared_ptr<const std::vector<std::uint64_t>>;

/// Whether a source may have this name.
bool is_source_name(std::string_view name);

/// Whole weights in proportion to these, with a sum of about kMaxSourceWeight: a share is wrong by
/// less than 10⁻⁶. A weight above 0 stays above 0.
/// Requires  finite numbers of at least 0, one of them above 0 (DEDLOC_CHECK)
std::vector<std::uint64_t> whole_weights(std::span<const double> shares);

}  // namespace dedloc::formats
