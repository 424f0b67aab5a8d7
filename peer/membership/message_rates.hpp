// How many messages a peer may send: a token bucket for each key, which outlives its links. Bulk
// does not count: windows bound it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>

#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"

namespace dedloc::membership {

/// Counts messages by sender.
class MessageRates {
  public:
    /// Sustained rate of one sender, in messages per second. The shortest rounds take 5 ms and need
    /// ten messages.
    static constexpr double kPerSecond = 4'000;
    /// Size of the bucket, in messages.
    static constexpr double kBurst = 20'000;

    /// Counts a message. False if the sender has sent too many.
    bool take(TimePoint now, const PeerKey& sender) {
        if (buckets_.size() >= kMaxBuckets && !buckets_.contains(sender)) {
            std::erase_if(buckets_,
                          [&](const auto& entry) { return tokens(now, entry.second) >= kBurst; });
        }
        Bucket& bucket =
            buckets_.try_emplace(sender, Bucket{.tokens = kBurst, .at = now}).first->second;
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

    static double tokens(TimePoint now, const Bucket& bucket) {
        const std::chrono::duration<double> passed = now - bucket.at;
        return std::min(kBurst, bucket.tokens + passed.count() * kPerSecond);
    }

    std::map<PeerKey, Bucket> buckets_;
};

}  // namespace dedloc::membership
