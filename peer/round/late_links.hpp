// Which link has made a round late, by what the coordinator itself has received and when. No member
// can say it of another.
#pragma once

#include <map>

#include "peer/config.hpp"
#include "peer/round/seen_links.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::round {

/// When members have sent in a round, and were ready.
struct RoundTimes {
    TimePoint published_at{};                    ///< when the plan was sent
    Duration expected{};                         ///< planned duration; 0: no speed is known
    std::map<PeerKey, TimePoint> contributed{};  ///< after published_at: when slices were here
    std::map<PeerKey, TimePoint> averaged{};     ///< after published_at: when averages were here
    std::map<PeerKey, TimePoint> ready{};        ///< when members said that they were ready
};

/// All awaited members of a round are ready at `now`. If it took much longer than planned, tells
/// `links` whose link was slow.
void judge_links(TimePoint now, const RoundRules& rules, const wire::Plan& plan,
                 const RoundTimes& times, SeenLinks& links);

}  // namespace dedloc::round
