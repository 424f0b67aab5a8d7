// Eviction happens before a connection enters a kind, and goes through TcpHandshake::cut(), which
// calls over() before it returns: hold no reference into pending_links_ across it. Handshakes in
// progress keep the session options that they began with.
#include "peer/net/tcp/pending_links.hpp"

#include <utility>

namespace dedloc::net {

namespace {

using Clock = std::chrono::steady_clock;

/// An honest peer completes its handshake within this time, even far away or on a busy machine.
constexpr std::chrono::seconds kEnoughTime{1};
/// A wide network that holds this part of the places is what fills them: one part in so many.
constexpr std::size_t kCrowdPart = 16;

}  // namespace

PendingLinks::PendingLinks(const TransportOptions& options, const SocketPlaces& places,
                           const formats::Revocations& revoked, Admit admit,
                           FlowHandshake::FindLink find_link, OnOver on_over)
    : deadline_(options.handshakes.deadline),
      places_(places),
      revoked_(revoked),
      admit_(std::move(admit)),
      find_link_(std::move(find_link)),
      on_over_(std::move(on_over)),
      session_(std::make_shared<const SessionOptions>(*options.session)) {}

void PendingLinks::present(const formats::SignedTicket& ticket) {
    SessionOptions session = *session_;
    session.ticket = ticket;
    session_ = std::make_shared<const SessionOptions>(std::move(session));
}

void PendingLinks::begin_handshake(TcpSocket socket, const Endpoint& remote, Side side,
                                   const std::optional<PeerKey>& expected) {
    begin(std::move(socket), remote, {session_, side, expected, {}, deadline_});
}

void PendingLinks::begin_flow(TcpSocket socket, const Endpoint& remote, const FlowSecret& link) {
    begin(std::move(socket), remote, {session_, Side::kDialler, {}, link, deadline_});
}

void PendingLinks::begin(TcpSocket socket, const Endpoint& remote,
                         const TcpHandshake::Terms& terms) {
    const Number number = ++last_number_;
    if (terms.side == Side::kListener) {
        make_place(silent_);
        silent_.add(number, remote.host);
    }
    const auto handshake = std::make_shared<TcpHandshake>(
        std::move(socket), terms, revoked_,
        TcpHandshake::Owner{.on_hello = [this, number] { on_hello(number); },
                            .admit = admit_,
                            .find_link = find_link_,
                            .on_over = [this, number](TcpHandshake&) { over(number); }});
    pending_links_.emplace(number, Stranger{remote, terms.side, Clock::now(), handshake});
    handshake->start();
}

/// Moves a connection from the silent to the heard ones; may evict one of these.
void PendingLinks::on_hello(Number number) {
    const Stranger& stranger = pending_links_.at(number);
    if (stranger.side != Side::kListener) return;
    const std::string host = stranger.remote.host;
    silent_.remove(number);
    make_place(heard_);
    heard_.add(number, host);
}

/// Evicts a connection if this kind has all of its places taken.
void PendingLinks::make_place(const AddressGroups& kind) {
    if (kind.size() < places_.handshakes) return;
    const AddressGroups::Victim victim = kind.victim(random_).value();
    const Stranger& stranger = pending_links_.at(victim.number);
    const bool is_of_crowd = victim.neighbours > places_.handshakes / kCrowdPart;
    if (!is_of_crowd && Clock::now() < stranger.since + kEnoughTime) is_crowded_ = true;
    stranger.handshake->cut(LinkRefusal::kCrowded);
}

void PendingLinks::over(Number number) {
    const Stranger stranger = std::move(pending_links_.at(number));
    pending_links_.erase(number);
    silent_.remove(number);
    heard_.remove(number);
    on_over_(stranger.remote, stranger.side, *stranger.handshake);
}

}  // namespace dedloc::net
