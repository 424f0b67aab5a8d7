// A table (kRules) describes each point: the direction, the kind of message, which message of that
// kind, and whether the peer dies before or after it. KillPoint counts frames of that kind in the
// present round and compares the count with the number that the newest plan makes this peer send or
// receive. Plans are read from received and sent frames alike, as a coordinator receives none, so
// the expected number is known before the first chunk. kRules and Point must have the same order.
#include "tests/simulation/kill_points.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "peer/wire/message_codec.hpp"

namespace dedloc::simulation {
namespace {

enum class Way : std::uint8_t { kReceived, kSent, kCommitted, kApplied };
enum class Kind : std::uint8_t {
    kCall,
    kJoin,
    kPlan,
    kScatter,
    kReduced,
    kGather,
    kReady,
    kPropose,
    kAccept,
    kCommit,
    kNone,
};
enum class Which : std::uint8_t {
    kFirst,
    kHalf,  ///< half of the messages that the plan makes this peer send or receive
    kLast,
    kEndOfBroadcast,  ///< the last message of its kind among the actions of one event
};
enum class Side : std::uint8_t { kBefore, kAfter };

struct Rule {
    std::string_view name;
    Way way;
    Kind kind;
    Which which;
    Side side;
};

constexpr auto kIn = Way::kReceived;
constexpr auto kOut = Way::kSent;
constexpr auto kBefore = Side::kBefore;
constexpr auto kAfter = Side::kAfter;
constexpr auto kFirst = Which::kFirst;

/// The rules, in the order of Point.
constexpr std::array<Rule, kPointCount> kRules{{
    {"before the Call is handled", kIn, Kind::kCall, kFirst, kBefore},
    {"after the Call is received", kIn, Kind::kCall, kFirst, kAfter},
    {"before Join is sent", kOut, Kind::kJoin, kFirst, kBefore},
    {"after Join is sent", kOut, Kind::kJoin, kFirst, kAfter},
    {"before the Plan is handled", kIn, Kind::kPlan, kFirst, kBefore},
    {"after the Plan is received", kIn, Kind::kPlan, kFirst, kAfter},
    {"first scatter sent", kOut, Kind::kScatter, kFirst, kAfter},
    {"half of the scatter sent", kOut, Kind::kScatter, Which::kHalf, kAfter},
    {"last scatter sent", kOut, Kind::kScatter, Which::kLast, kAfter},
    {"before Reduced is sent", kOut, Kind::kReduced, kFirst, kBefore},
    {"after Reduced is sent", kOut, Kind::kReduced, kFirst, kAfter},
    {"first gather received", kIn, Kind::kGather, kFirst, kAfter},
    {"half of the gather received", kIn, Kind::kGather, Which::kHalf, kAfter},
    {"last gather received", kIn, Kind::kGather, Which::kLast, kAfter},
    {"before Ready is sent", kOut, Kind::kReady, kFirst, kBefore},
    {"after Ready is sent", kOut, Kind::kReady, kFirst, kAfter},
    {"before the Propose is handled", kIn, Kind::kPropose, kFirst, kBefore},
    {"before Accept is sent", kOut, Kind::kAccept, kFirst, kBefore},
    {"after Accept is sent", kOut, Kind::kAccept, kFirst, kAfter},
    {"before the Commit is handled", kIn, Kind::kCommit, kFirst, kBefore},
    {"after the record is written", Way::kCommitted, Kind::kNone, kFirst, kAfter},
    {"after the average is applied", Way::kApplied, Kind::kNone, kFirst, kAfter},
    {"first scatter received", kIn, Kind::kScatter, kFirst, kAfter},
    {"half of the scatter received", kIn, Kind::kScatter, Which::kHalf, kAfter},
    {"last scatter received", kIn, Kind::kScatter, Which::kLast, kAfter},
    {"first gather sent", kOut, Kind::kGather, kFirst, kAfter},
    {"half of the gather sent", kOut, Kind::kGather, Which::kHalf, kAfter},
    {"last gather sent", kOut, Kind::kGather, Which::kLast, kAfter},
    {"before Call is sent", kOut, Kind::kCall, kFirst, kBefore},
    {"Call sent to one", kOut, Kind::kCall, kFirst, kAfter},
    {"after Call is sent", kOut, Kind::kCall, Which::kEndOfBroadcast, kAfter},
    {"before Plan is sent", kOut, Kind::kPlan, kFirst, kBefore},
    {"Plan sent to one", kOut, Kind::kPlan, kFirst, kAfter},
    {"after Plan is sent", kOut, Kind::kPlan, Which::kEndOfBroadcast, kAfter},
    {"before Propose is sent", kOut, Kind::kPropose, kFirst, kBefore},
    {"Propose sent to one", kOut, Kind::kPropose, kFirst, kAfter},
    {"after Propose is sent", kOut, Kind::kPropose, Which::kEndOfBroadcast, kAfter},
    {"before Commit is sent", kOut, Kind::kCommit, kFirst, kBefore},
    {"Commit sent to one", kOut, Kind::kCommit, kFirst, kAfter},
    {"after Commit is sent", kOut, Kind::kCommit, Which::kEndOfBroadcast, kAfter},
}};

const Rule& rule_of(Point point) {
    return kRules[static_cast<std::size_t>(point)];
}

struct KindOf {
    Kind operator()(const wire::Call&) const { return Kind::kCall; }
    Kind operator()(const wire::Join&) const { return Kind::kJoin; }
    Kind operator()(const wire::Plan&) const { return Kind::kPlan; }
    Kind operator()(const wire::Chunk& chunk) const {
        return chunk.kind == wire::ChunkKind::kScatter ? Kind::kScatter : Kind::kGather;
    }
    Kind operator()(const wire::Reduced&) const { return Kind::kReduced; }
    Kind operator()(const wire::Ready&) const { return Kind::kReady; }
    Kind operator()(const wire::Propose&) const { return Kind::kPropose; }
    Kind operator()(const wire::Accept&) const { return Kind::kAccept; }
    Kind operator()(const wire::Commit&) const { return Kind::kCommit; }
    template <class Other>
    Kind operator()(const Other&) const {
        return Kind::kNone;
    }
};

std::optional<wire::Message> read(const SharedBytes& frame) {
    auto message = wire::decode_unverified(*frame);
    if (!message) return std::nullopt;
    return std::move(*message);
}

}  // namespace

std::array<Point, kPointCount> all_points() {
    std::array<Point, kPointCount> points{};
    for (std::size_t i = 0; i < kPointCount; ++i) points[i] = static_cast<Point>(i);
    return points;
}

std::string_view name_of(Point point) {
    return rule_of(point).name;
}

KillPoint::KillPoint(Point point, StepIndex step, const PeerKey& self)
    : point_(point), step_(step), self_(self) {}

/// Computes from a plan how many chunks of the point's kind this peer will send or receive.
void KillPoint::learn(const wire::Plan& plan) {
    const std::uint32_t index = wire::index_of(plan, self_);
    if (index == plan.members.size()) return;
    std::uint64_t own = 0, others = 0;
    for (const wire::ChunkRange& range : plan.ranges) {
        const std::uint64_t chunks = range.last_chunk - range.first_chunk;
        (range.member.value() == index ? own : others) += chunks;
    }
    std::uint64_t senders = 0, receivers = 0;
    for (const wire::PlanMember& member : plan.members) {
        if (member.peer == self_) continue;
        if (member.samples > Samples{0}) ++senders;
        if (member.receives) ++receivers;
    }
    const Rule& rule = rule_of(point_);
    const bool is_scatter = rule.kind == Kind::kScatter;
    const bool is_sent = rule.way == Way::kSent;
    if (is_scatter && is_sent) expected_ = others;
    if (is_scatter && !is_sent) expected_ = own * senders;
    if (rule.kind == Kind::kGather && is_sent) expected_ = own * receivers;
    if (rule.kind == Kind::kGather && !is_sent) expected_ = others;
}

/// Counts the frame if it is of the point's kind; returns whether it is.
bool KillPoint::is_match(const SharedBytes& frame) {
    const auto message = read(frame);
    if (!message || message->step < std::max(step_, round_)) return false;
    if (message->step > round_) {
        round_ = message->step;
        seen_ = 0;
    }
    if (const auto* plan = std::get_if<wire::Plan>(&message->body)) learn(*plan);
    if (std::visit(KindOf{}, message->body) != rule_of(point_).kind) return false;
    ++seen_;
    return true;
}

bool KillPoint::is_counted_out() const {
    switch (rule_of(point_).which) {
        case Which::kFirst:
            return seen_ == 1;
        case Which::kHalf:
            return 2 * seen_ >= expected_;
        case Which::kLast:
            return seen_ >= expected_;
        case Which::kEndOfBroadcast:
            return true;
    }
    return false;
}

bool KillPoint::is_before(const Event& event) {
    is_due_ = false;
    const auto* received = std::get_if<event::FrameReceived>(&event);
    if (received == nullptr) return false;
    const Rule& rule = rule_of(point_);
    if (rule.way != Way::kReceived) {
        if (rule.way == Way::kSent) {  // only to read the plan
            const auto message = read(received->frame);
            if (!message) return false;
            const auto* plan = std::get_if<wire::Plan>(&message->body);
            if (plan != nullptr) learn(*plan);
        }
        return false;
    }
    if (!is_match(received->frame) || !is_counted_out()) return false;
    is_due_ = rule.side == Side::kAfter;
    return !is_due_;
}

bool KillPoint::is_after_event() {
    return std::exchange(is_due_, false);
}

bool KillPoint::is_before(const Actions& actions, std::size_t i) {
    const Rule& rule = rule_of(point_);
    const auto* send = std::get_if<action::Send>(&actions[i]);
    if (send == nullptr) return false;
    if (rule.way == Way::kReceived) {
        const auto message = read(send->frame.whole());
        const auto* plan = message ? std::get_if<wire::Plan>(&message->body) : nullptr;
        if (plan != nullptr) learn(*plan);
        return false;
    }
    if (rule.way != Way::kSent || !is_match(send->frame.whole()) || !is_counted_out()) return false;
    if (rule.side == Side::kBefore) return true;
    if (rule.which == Which::kEndOfBroadcast) {
        for (std::size_t k = i + 1; k < actions.size(); ++k) {
            const auto* later = std::get_if<action::Send>(&actions[k]);
            const auto message = later == nullptr ? std::nullopt : read(later->frame.whole());
            if (message && std::visit(KindOf{}, message->body) == rule.kind) return false;
        }
    }
    is_due_ = true;
    return false;
}

bool KillPoint::is_after(const Actions& actions, std::size_t i) {
    const Rule& rule = rule_of(point_);
    if (rule.way == Way::kSent) return std::exchange(is_due_, false);
    if (rule.way == Way::kCommitted) {
        const auto* committed = std::get_if<action::Committed>(&actions[i]);
        if (committed != nullptr) round_ = committed->record.step;
        return committed != nullptr && round_ >= step_;
    }
    if (rule.way == Way::kApplied) {
        const auto* apply = std::get_if<action::Apply>(&actions[i]);
        if (apply != nullptr) round_ = apply->step;
        return apply != nullptr && round_ >= step_;
    }
    return false;
}

}  // namespace dedloc::simulation
