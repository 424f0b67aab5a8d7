// A probe has found more if the peer's Join of a later round claims a twentieth more in one
// direction, and the round was shorter than the one before. The claim rises half-way to what the
// round has measured (progress/link_rate.hpp).
#include "peer/round/link_probe.hpp"

#include <algorithm>
#include <utility>

namespace dedloc::round {
namespace {

/// Bandwidth that a probe plans with, in percent of the peer's claim: for a link that is likely to
/// carry more (a server's, or one of which the last probe has found more), and for any other. Most
/// homes' links carry what is claimed, and a failed probe makes the round longer.
constexpr std::uint64_t kLikelyPercent = 200;
constexpr std::uint64_t kUnlikelyPercent = 120;

/// The bandwidths that a peer claims; nothing if one of them is not known.
std::optional<planning::LinkSpeed> claim_of(const Callee& callee) {
    if (!callee.join || !callee.join->upload || !callee.join->download) return {};
    return planning::LinkSpeed{*callee.join->upload, *callee.join->download};
}

bool is_a_twentieth_more(Bandwidth now, Bandwidth before) {
    return now.value() >= before.value() + before.value() / 20;
}

}  // namespace

std::optional<ProbedLink> LinkProbe::next(const Callees& callees) {
    settle(callees);
    if (pause_ > 0) return {};
    if (tried_.size() >= kMaxTried) tried_.clear();
    const auto chosen = [&] {
        const auto is_fit = [&](const auto& entry) {
            const bool can_reduce = entry.second.may_reduce && claim_of(entry.second);
            return can_reduce && !tried_.contains(entry.first);
        };
        const auto is_server = [&](const auto& entry) {
            return is_fit(entry) && entry.second.join->samples == Samples{0};
        };
        const auto again = found_ ? callees.find(*found_) : callees.end();
        if (again != callees.end() && is_fit(*again)) return again;
        const auto server = std::ranges::find_if(callees, is_server);
        return server != callees.end() ? server : std::ranges::find_if(callees, is_fit);
    }();
    if (chosen == callees.end()) {
        if (!std::exchange(tried_, {}).empty()) pause_ = length_;
        return {};
    }
    before_ = *claim_of(chosen->second);
    before_took_ = took_;
    probe_ = chosen->first;
    const bool is_likely = found_ == probe_ || chosen->second.join->samples == Samples{0};
    return ProbedLink{*probe_, is_likely ? kLikelyPercent : kUnlikelyPercent};
}

void LinkProbe::on_plan(bool is_probed) {
    is_probed_ = is_probed && probe_;
    is_decided_ = false;
    if (probe_ && !is_probed) tried_.insert(*probe_);
}

void LinkProbe::on_decision(Duration took) {
    if (pause_ > 0) --pause_;
    is_decided_ = true;
    took_ = took;
}

/// What has the last probe found?
void LinkProbe::settle(const Callees& callees) {
    const auto probe = std::exchange(probe_, {});
    found_.reset();
    if (!std::exchange(is_probed_, false)) return;
    const auto callee = callees.find(*probe);
    const auto now = callee == callees.end() ? std::nullopt : claim_of(callee->second);
    const bool is_shorter = is_decided_ && (before_took_ == Duration{} || took_ < before_took_);
    if (is_shorter && now &&
        (is_a_twentieth_more(now->upload, before_.upload) ||
         is_a_twentieth_more(now->download, before_.download))) {
        found_ = probe;
        length_ = std::max(length_ / 2, kFirstPause);
        return;
    }
    tried_.insert(*probe);
    pause_ = length_;
    length_ = std::min(2 * length_, kMaxPause);
}

}  // namespace dedloc::round
