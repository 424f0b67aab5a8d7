// Dials and their backoff. An address is dialled again after 1, 2, 4 … 32 seconds; the address of a
// lost voter every two seconds, without limit. Attempts are kept by address, since nothing else is
// known before the handshake; when there are too many, the one that has failed most often is
// forgotten.
#include <algorithm>
#include <string>

#include "peer/membership/links.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::membership {
namespace {

constexpr Duration kFirstRetry = std::chrono::seconds{1};
constexpr unsigned kMaxBackoffDoublings = 5;  // at most 32 s between dials
constexpr unsigned kMaxVoterDoublings = 1;    // 2 s: every peer needs the voters
constexpr std::size_t kMaxAttempts = 4 * wire::kMaxMembers;
/// Limit of unanswered dials: the number of reducers that a plan can have.
constexpr std::size_t kMaxDials = wire::kMaxReducers;

}  // namespace

void Links::found(TimePoint now, const std::vector<Endpoint>& endpoints, Actions& actions) {
    // Without a linked voter all addresses are dialled: one of them may lead to a voter.
    const bool has_voter = std::any_of(voters_.begin(), voters_.end(), [&](const PeerKey& voter) {
        return voter == key_.public_key() || find(voter) != nullptr;
    });
    for (const Endpoint& endpoint : endpoints) {
        if (known_.size() >= kMeshLimit && has_voter) return;
        reach(now, endpoint, actions);
    }
}

void Links::reach(TimePoint now, const Endpoint& endpoint, Actions& actions) {
    if (endpoint.port == 0 || self_.contains(endpoint) || is_known_endpoint(endpoint)) return;
    dial(now, endpoint, actions);
}

void Links::dial(TimePoint now, const Endpoint& endpoint, Actions& actions) {
    if (dials_ >= kMaxDials) return;
    if (attempts_.size() >= kMaxAttempts && !attempts_.contains(endpoint)) forget_worst_attempt();
    Attempt& attempt = attempts_[endpoint];
    if (attempt.is_dialling || now < attempt.not_before) return;
    attempt.is_dialling = true;
    ++dials_;
    actions.push_back(action::Dial{endpoint});
}

/// Forgets the address that has failed most often, unless it is being dialled.
void Links::forget_worst_attempt() {
    auto worst = attempts_.end();
    for (auto it = attempts_.begin(); it != attempts_.end(); ++it) {
        if (it->second.is_dialling) continue;
        if (worst == attempts_.end() || it->second.failures > worst->second.failures) worst = it;
    }
    if (worst != attempts_.end()) attempts_.erase(worst);
}

/// A peer that listens on IPv4 and IPv6 is found at two addresses.
bool Links::is_known_endpoint(const Endpoint& endpoint) const {
    const auto attempt = attempts_.find(endpoint);
    const bool is_tried = attempt != attempts_.end() && attempt->second.peer;
    if (is_tried && known_.contains(*attempt->second.peer)) return true;
    return std::any_of(known_.begin(), known_.end(),
                       [&](const auto& entry) { return entry.second.endpoint == endpoint; });
}

void Links::dial_failed(TimePoint now, const event::DialFailed& event, Actions& actions) {
    dials_ -= std::min<std::size_t>(dials_, 1);
    try_later(now, event.remote);
    if (event.is_self) self_.insert(event.remote);
    if (event.is_self || event.why.empty() || !refusals_.count(event.why, now)) return;
    actions.push_back(action::Note{"no link with " + log_name(event.remote) + ": " + event.why});
}

void Links::try_later(TimePoint now, const Endpoint& remote) {
    Attempt& attempt = attempts_[remote];
    attempt.is_dialling = false;
    const bool is_voters = std::any_of(lost_voters_.begin(), lost_voters_.end(),
                                       [&](const auto& lost) { return lost.second == remote; });
    const unsigned max = is_voters ? kMaxVoterDoublings : kMaxBackoffDoublings;
    attempt.not_before = now + kFirstRetry * (1 << std::min(attempt.failures, max));
    ++attempt.failures;
    if (is_voters) tick_at_ = std::min(tick_at_, attempt.not_before);
}

// --- voters ------------------------------------------------------------------

bool Links::is_voter(const PeerKey& peer) const {
    return std::ranges::binary_search(voters_, peer);
}

void Links::remember_voter(const PeerKey& peer, const Known& known) {
    if (!is_voter(peer) || known.endpoint.port == 0) return;
    lost_voters_[peer] = known.endpoint;
    tick_at_ = TimePoint::min();
}

void Links::redial_voters(TimePoint now, Actions& actions) {
    std::erase_if(lost_voters_, [&](const auto& lost) {
        return !is_voter(lost.first) || known_.contains(lost.first);
    });
    for (const auto& [peer, endpoint] : lost_voters_) {
        reach(now, endpoint, actions);
        Attempt& attempt = attempts_[endpoint];
        // reach() has not dialled: another peer is linked there, or too many dials are pending.
        if (!attempt.is_dialling && now >= attempt.not_before) {
            attempt.not_before = now + kFirstRetry;
        }
    }
}

// --- the names of addresses in the log --------------------------------------------

/// A volunteer's log is uploaded and shown with its job, so it must not name the addresses of other
/// volunteers. A backbone's log stays with its administrator.
std::string Links::log_name(const Endpoint& remote) const {
    return config_.role == Role::kBackbone ? remote.text() : "a peer";
}

std::string Links::log_name(const Link& link) const {
    const bool is_known = config_.role != Role::kBackbone && link.peer;
    return is_known ? link.peer->brief() : log_name(link.remote);
}

}  // namespace dedloc::membership
