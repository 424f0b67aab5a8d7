#include "peer/net/nng_strangers.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <utility>

namespace dedloc::net {

std::string neighbourhood_of(const std::string& numeric_host) {
    std::array<unsigned char, 16> address{};
    if (inet_pton(AF_INET6, numeric_host.c_str(), address.data()) != 1) return numeric_host;
    return {reinterpret_cast<const char*>(address.data()), 8};
}

NngStrangers::NngStrangers(const SessionOptions& session, const HandshakeLimits& limits,
                           NngHandshake::Revoked revoked, std::function<void(Outcome)> on_over)
    : limits_(limits),
      revoked_(std::move(revoked)),
      on_over_(std::move(on_over)),
      session_(std::make_shared<const SessionOptions>(session)) {}

NngStrangers::~NngStrangers() {
    stop();
    std::unique_lock lock(mutex_);
    all_over_.wait(lock, [&] { return living_ == 0; });
}

void NngStrangers::present(const wire::SignedTicket& ticket) {
    const std::lock_guard lock(mutex_);
    SessionOptions session = *session_;
    session.ticket = ticket;
    session_ = std::make_shared<const SessionOptions>(std::move(session));
}

void NngStrangers::stop() {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    for (const Stranger& stranger : strangers_) stranger.handshake->cut(LinkRefusal::kHungUp);
}

void NngStrangers::greet(NngStream stream, const Endpoint& remote, Side side,
                         const std::optional<PeerKey>& expected) {
    bury();
    NngHandshake* handshake = nullptr;
    {
        const std::lock_guard lock(mutex_);
        if (is_stopping_) return;
        const bool is_counted = side == Side::kListener;
        const std::string neighbourhood = neighbourhood_of(remote.host);
        if (is_counted) make_room(neighbourhood);
        Stranger& stranger =
            strangers_.emplace_back(Stranger{remote, neighbourhood, side, is_counted});
        stranger.handshake = std::make_unique<NngHandshake>(
            std::move(stream), NngHandshake::Terms{session_, side, expected, limits_.deadline},
            revoked_, [this, &stranger](NngHandshake&) { over(stranger); });
        handshake = stranger.handshake.get();
        ++living_;
    }
    handshake->start();
}

void NngStrangers::make_room(const std::string& neighbourhood) {
    const auto is_counted = [](const Stranger& stranger) { return stranger.is_counted; };
    const auto is_near = [&](const Stranger& stranger) {
        return stranger.is_counted && stranger.neighbourhood == neighbourhood;
    };
    const auto count = [&](const auto& fits) {
        return static_cast<std::size_t>(std::ranges::count_if(strangers_, fits));
    };
    if (count(is_near) >= limits_.from_one_address) hang_up_on_oldest(is_near);
    if (count(is_counted) >= limits_.together) hang_up_on_oldest(is_counted);
}

void NngStrangers::hang_up_on_oldest(const std::function<bool(const Stranger&)>& fits) {
    const auto oldest = std::ranges::find_if(strangers_, fits);
    oldest->is_counted = false;
    oldest->handshake->cut(LinkRefusal::kCrowded);
}

void NngStrangers::over(Stranger& stranger) {
    NngHandshake& handshake = *stranger.handshake;
    const bool is_proven = handshake.is_proven();
    on_over_({.remote = stranger.remote,
              .is_dialled = stranger.side == Side::kDialler,
              .stream = is_proven ? handshake.take_stream() : nullptr,
              .proven = is_proven ? &handshake.proven() : nullptr,
              .why = is_proven ? "" : handshake.sentence(),
              .is_self = handshake.is_self(),
              .round_trip = handshake.round_trip()});
    const std::lock_guard lock(mutex_);
    stranger.is_counted = false;
    over_.push_back(&stranger);
    if (--living_ == 0) all_over_.notify_all();
}

/// Destroys what is over. Waits at most for a callback that is just returning.
void NngStrangers::bury() {
    std::list<Stranger> buried;
    const std::lock_guard lock(mutex_);
    for (const Stranger* over : std::exchange(over_, {})) {
        const auto found =
            std::ranges::find(strangers_, over, [](const Stranger& stranger) { return &stranger; });
        buried.splice(buried.end(), strangers_, found);
    }
}

}  // namespace dedloc::net
