// The first plan of the round tells how many chunks each host must receive: its own range from
// every other contributor, and all other ranges as averages if it receives. Each received chunk
// counts down; amended plans are ignored, so use it only where no member is lost.
#include "peer/plan_tool/round_watch.hpp"

#include <algorithm>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/wire/message_codec.hpp"

namespace dedloc::plan {

void RoundWatch::begin(StepIndex step) {
    step_ = step;
    planned_at_.reset();
    whole_at_.reset();
}

/// The message, if it belongs to the observed round. An observer need not verify signatures.
std::optional<wire::Message> RoundWatch::read(const SharedBytes& frame) const {
    auto message = wire::decode_unverified(*frame);
    if (!message || message->step != step_) return {};
    return std::move(message).value();
}

void RoundWatch::learn(const wire::Plan& plan) {
    std::vector<std::uint64_t> own(plan.members.size(), 0);
    std::uint64_t chunks = 0;
    for (const wire::ChunkRange& range : plan.ranges) {
        own[range.member.value()] += range.last_chunk - range.first_chunk;
        chunks += range.last_chunk - range.first_chunk;
    }
    const auto contributes = [](const wire::PlanMember& m) { return m.samples > Samples{0}; };
    const auto contributors = static_cast<std::uint64_t>(
        std::count_if(plan.members.begin(), plan.members.end(), contributes));
    std::fill(missing_.begin(), missing_.end(), 0);
    waiting_ = 0;
    for (std::size_t k = 0; k < plan.members.size(); ++k) {
        const wire::PlanMember& member = plan.members[k];
        const auto host = host_of_(member.peer);
        DEDLOC_CHECK(host && *host < missing_.size(),
                     "a member of the plan is not a host of this world", k);
        const std::uint64_t others = contributors - (contributes(member) ? 1 : 0);
        missing_[*host] = own[k] * others + (member.receives ? chunks - own[k] : 0);
        waiting_ += missing_[*host] > 0 ? 1 : 0;
    }
}

void RoundWatch::handles(TimePoint now, NodeId node, const Event& event) {
    const auto* received = std::get_if<event::FrameReceived>(&event);
    if (received == nullptr || !planned_at_ || missing_[node] == 0) return;
    const auto message = read(received->frame);
    if (!message || !std::holds_alternative<wire::Chunk>(message->body)) return;
    if (--missing_[node] == 0 && --waiting_ == 0) whole_at_ = now;
}

void RoundWatch::has_handled(TimePoint now, NodeId, const Actions& actions) {
    for (auto action = actions.begin(); action != actions.end() && !planned_at_; ++action) {
        const auto* send = std::get_if<action::Send>(&*action);
        const auto message = send == nullptr ? std::nullopt : read(send->frame.whole());
        const auto* plan = message ? std::get_if<wire::Plan>(&message->body) : nullptr;
        if (plan == nullptr) continue;
        planned_at_ = now;
        learn(*plan);
    }
}

}  // namespace dedloc::plan
