// How often each peer may do something: a token bucket for each key, which outlives its links.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>

#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"

namespace dedloc {

/// Buckets by key, which all have the same rate and size.
class TokenBuckets {
  public:
    /// What one key may do.
    struct Rate {
        double per_second = 0;  ///< sustained
        double burst = 0;       ///< at once, after a pause
    };

    explicit TokenBuckets(Rate rate) : rate_(rate) {}

    /// Takes a token of this key. False if none is left.
    bool take(TimePoint now, const PeerKey& key) {
        if (buckets_.size() >= kMaxBuckets && !buckets_.contains(key)) {
            std::erase_if(buckets_, [&](const auto& entry) {
                return tokens(now, entry.second) >= rate_.burst;
            });
        }
        Bucket& bucket =
            buckets_.try_emplace(key, Bucket{.tokens = rate_.burst, .at = now}).first->second;
        bucket = {.tokens = tokens(now, bucket), .at = now};
        if (bucket.tokens < 1) return false;
        --bucket.tokens;
        return true;
    }

  private:
    struct Bucket {
        double tokens;
        TimePoint at;  ///< when they were counted
    };
    /// Full ones are forgotten beyond that.
    static constexpr std::size_t kMaxBuckets = 4'096;

    double tokens(TimePoint now, const Bucket& bucket) const {
        const std::chrono::duration<double> passed = now - bucket.at;
        return std::min(rate_.burst, bucket.tokens + passed.count() * rate_.per_second);
    }

    Rate rate_;
    std::map<PeerKey, Bucket> buckets_;
};

}  // namespace dedloc
