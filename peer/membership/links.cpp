// A link is pending until its Hello is checked (greet); `known_` then maps the peer to the link
// that is sent over. When two links lead to one peer, both ends pick by the same rule and retire
// the other one after two failure timeouts. Deadlines are not kept per link: tick_at_ is a lower
// bound, and advance() walks all links when it is due; any change that may bring a deadline forward
// must lower tick_at_. Dials are in links_dials.cpp.
#include "peer/membership/links.hpp"

#include <algorithm>
#include <cstring>

#include "peer/base/check.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::membership {

Links::Links(const PeerConfig& config, const KeyPair& key)
    : config_(config),
      key_(key),
      random_(config.random_seed),
      session_(random_.next()),
      listening_port_(config.listening_port) {}

const Known* Links::find(const PeerKey& peer) const {
    const auto it = known_.find(peer);
    return it == known_.end() ? nullptr : &it->second;
}

namespace {

bool is_v6(const Endpoint& endpoint) {
    return endpoint.host.find(':') != std::string::npos;
}

}  // namespace

// --- opening and closing -----------------------------------------------------

void Links::opened(TimePoint now, const event::LinkOpened& event, Actions& actions) {
    Link link{.remote = event.remote,
              .dialled = event.dialled,
              .nonce = {},
              .proven = event.proven,
              .user = event.user,
              .max_samples_per_second = event.max_samples_per_second,
              .peer = {},
              .last_sequence = 0,
              .opened_at = now};
    for (std::size_t i = 0; i < link.nonce.bytes.size(); i += 8) {
        const std::uint64_t word = random_.next();
        std::memcpy(link.nonce.bytes.data() + i, &word, sizeof word);
    }
    const Digest nonce = link.nonce;
    if (event.dialled) dials_ -= std::min<std::size_t>(dials_, 1);
    tick_at_ = std::min(tick_at_, now + config_.rules.failure_timeout);
    const wire::LinkKind kind = link.kind();
    links_.insert_or_assign(event.link, std::move(link));
    post(event.link, seal({}, wire::Challenge{nonce}, kind), actions);
}

void Links::post(LinkId id, Frame frame, Actions& actions) {
    Link& link = links_.at(id);
    link.queue.push_back(frame.size());
    link.queued_bytes += frame.size();
    queued_bytes_ += frame.size();
    actions.push_back(action::Send{id, std::move(frame)});
}

Links::Written Links::written(const event::FrameWritten& event) {
    const auto it = links_.find(event.link);
    if (it == links_.end() || it->second.queue.empty()) return {};
    Link& link = it->second;
    const std::size_t bytes = link.queue.front();
    link.queue.pop_front();
    link.queued_bytes -= bytes;
    queued_bytes_ -= bytes;
    return {.peer = link.peer, .bytes = Bytes{bytes}};
}

void Links::forget_queue(Link& link) {
    queued_bytes_ -= link.queued_bytes;
    link.queued_bytes = 0;
    link.queue.clear();
}

bool Links::has_space(const PeerKey& peer, std::uint64_t window) const {
    const Known* known = find(peer);
    return known != nullptr && links_.at(known->link).queued_bytes < window;
}

std::optional<PeerKey> Links::closed(TimePoint now, const event::LinkClosed& event,
                                     Actions& actions) {
    const auto it = links_.find(event.link);
    if (it == links_.end()) return {};
    forget_queue(it->second);
    const Link link = std::move(it->second);
    links_.erase(it);
    if (!event.why.empty() && refusals_.count(event.why, now)) {
        actions.push_back(
            action::Note{"the link to " + log_name(link) + " is closed: " + event.why});
    }
    // The address counts as being dialled until its link closes. If no peer has passed the
    // handshake there, the address backs off.
    if (link.dialled) {
        if (const auto dialled = attempts_.find(link.remote); dialled != attempts_.end()) {
            dialled->second.is_dialling = false;
        }
        if (!link.peer) try_later(now, link.remote);
    }
    if (!link.peer) return {};
    const auto known = known_.find(*link.peer);
    if (known == known_.end() || known->second.link != event.link) return {};
    // If there is another link to the same peer, it takes over. Frames in flight are lost all the
    // same, so the peer is lost and a newcomer at once.
    for (auto& [id, other] : links_) {
        if (other.peer == link.peer && !other.is_closing) {
            other.close_at = kNever;
            other.watched_since = now;
            tick_at_ = TimePoint::min();
            known->second.link = id;
            known->second.dialler = other.dialled ? key_.public_key() : *link.peer;
            newcomers_.push_back(*link.peer);
            return link.peer;
        }
    }
    remember_voter(*link.peer, known->second);
    known_.erase(known);
    std::erase(newcomers_, *link.peer);
    return link.peer;
}

void Links::close(LinkId id, Link& link, const std::string& why, Actions& actions,
                  const std::optional<PeerKey>& suspect) {
    if (link.is_closing) return;
    link.is_closing = true;
    if (!why.empty()) {
        actions.push_back(
            action::Note{"closing the link to " + log_name(link) + ": " + why, suspect});
    }
    actions.push_back(action::Close{id});
}

void Links::drop(const PeerKey& peer, Actions& actions) {
    if (const auto known = known_.find(peer); known != known_.end()) {
        remember_voter(peer, known->second);
        known_.erase(known);
    }
    std::erase(newcomers_, peer);
    for (auto& [id, link] : links_) {
        if (link.peer == peer) close(id, link, "", actions);
    }
}

std::vector<PeerKey> Links::leave_all(Actions& actions) {
    std::vector<PeerKey> lost;
    for (auto& [id, link] : links_) close(id, link, "", actions);
    for (const auto& [peer, known] : known_) {
        remember_voter(peer, known);
        lost.push_back(peer);
    }
    links_.clear();
    queued_bytes_ = 0;
    dials_ = 0;
    known_.clear();
    attempts_.clear();
    newcomers_.clear();
    return lost;
}

// --- messages ----------------------------------------------------------------

void Links::count_refusal(TimePoint now, LinkId id, const char* why, Actions& actions,
                          const std::string& detail, const std::optional<PeerKey>& suspect) {
    const auto count = refusals_.count(why, now);
    const auto it = links_.find(id);
    if (it == links_.end()) return;
    close(id, it->second, count ? why + detail + " (" + std::to_string(*count) + " so far)" : "",
          actions, suspect);
}

void Links::refuse(TimePoint now, const PeerKey& peer, const char* why, Actions& actions) {
    if (const Known* known = find(peer)) count_refusal(now, known->link, why, actions);
}

std::optional<wire::Message> Links::receive(TimePoint now, const event::FrameReceived& event,
                                            Actions& actions) {
    const auto it = links_.find(event.link);
    if (it == links_.end() || it->second.is_closing) return {};
    Link& link = it->second;
    auto decoded = wire::decode(event.frame, link.kind());
    if (!decoded) {
        count_refusal(now, event.link, wire::describe(decoded.reason()), actions);
        return {};
    }
    wire::Message message = std::move(decoded).value();
    if (message.run != config_.run) {
        count_refusal(now, event.link, "it belongs to another run", actions);
        return {};
    }
    if (link.proven && message.sender != *link.proven) {
        count_refusal(now, event.link, "it speaks for another peer than it has proven to be",
                      actions);
        return {};
    }
    const bool is_bulk = wire::is_bulk(message.body);
    const bool is_old = !is_bulk && message.sequence <= link.last_sequence;
    if (link.peer && (message.sender != *link.peer || is_old)) {
        count_refusal(now, event.link, "replayed or foreign frame", actions);
        return {};
    }
    if (const auto* challenge = std::get_if<wire::Challenge>(&message.body)) {
        answer(now, event.link, link, *challenge, actions);
        return {};
    }
    if (const auto* hello = std::get_if<wire::Hello>(&message.body)) {
        // Each is greeted like a newcomer: with the Call, or a whole plan.
        if (link.peer) {
            count_refusal(now, event.link, "it introduces itself again", actions);
            return {};
        }
        greet(now, event.link, link, message, *hello, actions);
        return {};
    }
    if (!link.peer) {
        count_refusal(now, event.link, "it did not introduce itself", actions);
        return {};
    }
    if (!is_bulk) link.last_sequence = message.sequence;
    if (!is_bulk && !messages_.take(now, *link.peer)) {
        count_refusal(now, event.link, "it sends too many messages", actions, {}, link.peer);
        return {};
    }
    const auto* heartbeat = std::get_if<wire::Heartbeat>(&message.body);
    if (heartbeat != nullptr && !heartbeats_.take(now, *link.peer)) {
        count_refusal(now, event.link, "it sends too many heartbeats", actions, {}, link.peer);
        return {};
    }
    const auto sender = known_.find(*link.peer);
    if (sender == known_.end()) return {};
    Known& known = sender->second;
    link.last_heard = now;
    if (heartbeat != nullptr) {
        known.has_reported = true;
        // Whether this pair exchanges heartbeats may depend on its term: look at the next tick.
        if (known.heartbeat.term != heartbeat->term) tick_at_ = TimePoint::min();
        known.generation = message.generation;
        known.step = message.step;
        known.heartbeat = *heartbeat;
        take_port(known, *heartbeat);
    }
    return message;
}

void Links::answer(TimePoint now, LinkId id, Link& link, const wire::Challenge& challenge,
                   Actions& actions) {
    if (std::exchange(link.is_challenged, true)) {
        return count_refusal(now, id, "it sends a second Challenge", actions);
    }
    const wire::Hello hello{.oldest_protocol = wire::kOldestProtocol,
                            .newest_protocol = wire::kNewestProtocol,
                            .session = session_,
                            .role = config_.role,
                            .receives = config_.receives,
                            .listening_port = listening_port_,
                            .result_name = config_.result_name,
                            .nonce = challenge.nonce};
    post(id, seal({}, hello, link.kind()), actions);
}

/// Only a change counts: the port at which this peer has dialled the other one may be that of a
/// router which the other one does not know. The host stays: it is where the link leads.
void Links::take_port(Known& known, const wire::Heartbeat& heartbeat) {
    if (!heartbeat.listening_port || *heartbeat.listening_port == known.claimed_port) return;
    known.claimed_port = known.endpoint.port = *heartbeat.listening_port;
}

void Links::greet(TimePoint now, LinkId id, Link& link, const wire::Message& message,
                  const wire::Hello& hello, Actions& actions) {
    if (message.sender == key_.public_key()) {
        if (link.dialled) self_.insert(link.remote);
        return close(id, link, "", actions);
    }
    if (hello.nonce != link.nonce)
        return count_refusal(now, id, "its Hello answers a different challenge", actions);
    if (hello.newest_protocol < wire::kOldestProtocol ||
        hello.oldest_protocol > wire::kNewestProtocol) {
        const char* what = "it speaks other protocol versions: ";
        const std::string versions = std::to_string(hello.oldest_protocol) + " to " +
                                     std::to_string(hello.newest_protocol) + ", here it is " +
                                     std::to_string(wire::kOldestProtocol) + " to " +
                                     std::to_string(wire::kNewestProtocol);
        post(id, seal({}, wire::Refusal{what + versions}, link.kind()), actions);
        return count_refusal(now, id, what, actions, versions);
    }
    // It would be in all rounds without ever having to hold a state.
    if (hello.role == Role::kTrainer && !hello.receives) {
        return count_refusal(now, id, "it is a trainer that takes no averages", actions, {},
                             message.sender);
    }
    link.peer = message.sender;
    link.last_sequence = message.sequence;
    tick_at_ = std::min(tick_at_, now + config_.rules.failure_timeout);
    if (link.dialled) {
        Attempt& attempt = attempts_[link.remote];
        attempt.failures = 0;
        attempt.peer = message.sender;
    }
    const PeerKey dialler = link.dialled ? key_.public_key() : message.sender;
    forget_earlier_life(message.sender, hello.session, id, actions);
    const auto [it, is_new] = known_.try_emplace(message.sender);
    Known& known = it->second;
    // Both ends choose the same one of two live links. A link that has been quiet may be dead.
    const auto chosen = is_new ? links_.end() : links_.find(known.link);
    const bool is_quiet =
        chosen != links_.end() && now >= chosen->second.last_heard + 2 * config_.rules.heartbeat;
    if (is_new || is_quiet || dialler <= known.dialler) {
        if (chosen != links_.end())
            chosen->second.close_at = now + 2 * config_.rules.failure_timeout;
        if (is_quiet) {
            relinked_.push_back(message.sender);
            newcomers_.push_back(message.sender);
        }
        known.link = id;
        known.dialler = dialler;
    } else {
        link.close_at = now + 2 * config_.rules.failure_timeout;
    }
    known.user = link.user;
    known.max_samples_per_second = link.max_samples_per_second > 0
                                       ? link.max_samples_per_second
                                       : config_.rules.max_samples_per_second;
    known.session = hello.session;
    known.role = hello.role;
    known.receives = hello.receives;
    known.result_name = hello.result_name;
    const std::uint16_t port = link.dialled ? link.remote.port : hello.listening_port;
    // More peers can dial an IPv4 address than an IPv6 one.
    const bool is_worse = is_v6(link.remote) && known.endpoint.port != 0 && !is_v6(known.endpoint);
    if (!is_worse) known.endpoint = {link.remote.host, port};
    known.claimed_port = hello.listening_port;
    link.last_heard = link.watched_since = now;
    if (is_new) newcomers_.push_back(message.sender);
}

/// A peer that has restarted with the same key has lost all messages and state of its old session.
void Links::forget_earlier_life(const PeerKey& peer, std::uint64_t session, LinkId newest,
                                Actions& actions) {
    const auto known = known_.find(peer);
    if (known == known_.end() || known->second.session == session) return;
    for (auto& [id, link] : links_) {
        if (id != newest && link.peer == peer) close(id, link, "", actions);
    }
    known_.erase(known);
    std::erase(newcomers_, peer);
    restarted_.push_back(peer);
}

wire::Message Links::message_with(StepIndex step, wire::Body body) {
    return {.run = config_.run,
            .generation = generation_,
            .step = step,
            .sequence = ++sequence_,
            .sender = key_.public_key(),
            .body = std::move(body)};
}

wire::LinkKind Links::kind_of(const PeerKey& peer) const {
    const Known* known = find(peer);
    return known != nullptr ? links_.at(known->link).kind() : wire::LinkKind::kUnproven;
}

Frame Links::seal(StepIndex step, wire::Body body, wire::LinkKind kind) {
    return wire::encode(message_with(step, std::move(body)), key_, kind);
}

bool Links::send_sealed(const PeerKey& to, const Frame& frame, Actions& actions) {
    const Known* known = find(to);
    if (known == nullptr) return false;
    post(known->link, frame, actions);
    return true;
}

bool Links::send(const PeerKey& to, StepIndex step, wire::Body body, Actions& actions) {
    return find(to) != nullptr &&
           send_sealed(to, seal(step, std::move(body), kind_of(to)), actions);
}

Links::SharedMessage Links::shared_message(StepIndex step, wire::Body body) {
    return {.message = message_with(step, std::move(body))};
}

const Frame& Links::frame_for(const Link& link, SharedMessage& shared_message) {
    Frame& frame = shared_message.frames[link.kind()];
    if (!frame) frame = wire::encode(shared_message.message, key_, link.kind());
    return frame;
}

bool Links::send(const PeerKey& to, SharedMessage& shared_message, Actions& actions) {
    const Known* known = find(to);
    if (known == nullptr) return false;
    post(known->link, frame_for(links_.at(known->link), shared_message), actions);
    return true;
}

void Links::broadcast(StepIndex step, const wire::Body& body, Actions& actions) {
    if (known_.empty()) return;
    SharedMessage all = shared_message(step, body);
    for (const auto& [peer, known] : known_) send(peer, all, actions);
}

void Links::broadcast_heartbeat(StepIndex step, const wire::Heartbeat& heartbeat, bool is_news,
                                Actions& actions) {
    SharedMessage all = shared_message(step, heartbeat);
    for (const auto& [peer, known] : known_) {
        if ((is_news && is_small_) || is_watched(peer)) send(peer, all, actions);
    }
}

bool Links::watch(const std::vector<PeerKey>& voters, std::size_t members, bool is_led) {
    is_small_ = members <= kMeshLimit;
    if (is_led == is_led_ && voters_ == voters) return false;
    is_led_ = is_led;
    voters_ = voters;
    tick_at_ = TimePoint::min();  // other pairs have timeouts now
    return true;
}

bool Links::is_watched(const PeerKey& peer) const {
    if (!is_led_ || is_voter(key_.public_key()) || is_voter(peer)) return true;
    const Known* known = find(peer);
    return known != nullptr && known->heartbeat.term.coordinator == PeerKey{};
}

bool Links::is_watched_by_voters_only() const {
    if (is_voter(key_.public_key())) return false;
    return std::none_of(known_.begin(), known_.end(), [&](const auto& entry) {
        return !is_voter(entry.first) && is_watched(entry.first);
    });
}

// --- time --------------------------------------------------------------------

void Links::advance(TimePoint now, Actions& actions) {
    if (now < tick_at_) return;
    for (auto& [id, link] : links_) {
        if (!link.peer && now >= link.opened_at + config_.rules.failure_timeout) {
            close(id, link, "it did not introduce itself in time", actions);
        } else if (now >= link.close_at) {
            close(id, link, "", actions);
        }
    }
    for (const auto& [peer, known] : known_) {
        Link& link = links_.at(known.link);
        if (!is_watched(peer)) {
            link.watched_since = kNever;
            continue;
        }
        if (link.watched_since == kNever) link.watched_since = now;
        if (now < silent_at(link)) continue;
        close(known.link, link, peer.brief() + " has timed out", actions);
    }
    redial_voters(now, actions);
    tick_at_ = earliest_deadline();
}

/// The failure timeout runs from the last message, but not from before heartbeats were expected.
TimePoint Links::silent_at(const Link& link) const {
    if (link.watched_since == kNever) return kNever;
    return std::max(link.last_heard, link.watched_since) + config_.rules.failure_timeout;
}

TimePoint Links::earliest_deadline() const {
    TimePoint next = kNever;
    for (const auto& [id, link] : links_) {
        if (link.is_closing) continue;
        if (!link.peer) next = std::min(next, link.opened_at + config_.rules.failure_timeout);
        next = std::min(next, link.close_at);
    }
    for (const auto& [peer, known] : known_) {
        const Link& link = links_.at(known.link);
        if (!link.is_closing) next = std::min(next, silent_at(link));
    }
    for (const auto& [peer, endpoint] : lost_voters_) {
        const auto attempt = attempts_.find(endpoint);
        const bool waits = attempt != attempts_.end() && !attempt->second.is_dialling;
        if (waits) next = std::min(next, attempt->second.not_before);
    }
    return next;
}

void Links::check_invariants() const {
    for (const auto& [peer, known] : known_) {
        const auto link = links_.find(known.link);
        DEDLOC_CHECK(link != links_.end(), "a known peer has a link", peer.brief());
        DEDLOC_CHECK(link->second.peer == peer, "a known peer's link leads to it", peer.brief());
    }
    DEDLOC_CHECK(!known_.contains(key_.public_key()), "a peer is not linked to itself");
}

}  // namespace dedloc::membership
