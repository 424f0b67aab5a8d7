#include "peer/net/tcp_strangers.hpp"

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

TcpStrangers::TcpStrangers(const SessionOptions& session, const HandshakeLimits& limits,
                           const wire::Revocations& revoked, OnOver on_over)
    : limits_(limits),
      revoked_(revoked),
      on_over_(std::move(on_over)),
      session_(std::make_shared<const SessionOptions>(session)) {}

void TcpStrangers::present(const wire::SignedTicket& ticket) {
    SessionOptions session = *session_;
    session.ticket = ticket;
    session_ = std::make_shared<const SessionOptions>(std::move(session));
}

void TcpStrangers::greet(TcpSocket socket, const Endpoint& remote, Side side,
                         const std::optional<PeerKey>& expected) {
    const std::string neighbourhood = neighbourhood_of(remote.host);
    if (side == Side::kListener) make_room(neighbourhood);
    const Place place = strangers_.insert(strangers_.end(), Stranger{remote, neighbourhood, side});
    place->handshake = std::make_shared<TcpHandshake>(
        std::move(socket), TcpHandshake::Terms{session_, side, expected, limits_.deadline},
        revoked_, [this, place](TcpHandshake&) { over(place); });
    place->handshake->start();
}

void TcpStrangers::make_room(const std::string& neighbourhood) {
    const auto is_counted = [](const Stranger& stranger) {
        return stranger.side == Side::kListener;
    };
    const auto is_near = [&](const Stranger& stranger) {
        return is_counted(stranger) && stranger.neighbourhood == neighbourhood;
    };
    const auto count = [&](const auto& fits) {
        return static_cast<std::size_t>(std::ranges::count_if(strangers_, fits));
    };
    if (count(is_near) >= limits_.from_one_address) hang_up_on_oldest(is_near);
    if (count(is_counted) >= limits_.together) hang_up_on_oldest(is_counted);
}

void TcpStrangers::hang_up_on_oldest(const std::function<bool(const Stranger&)>& fits) {
    std::ranges::find_if(strangers_, fits)->handshake->cut(LinkRefusal::kCrowded);
}

void TcpStrangers::over(Place place) {
    const Stranger stranger = std::move(*place);
    strangers_.erase(place);
    on_over_(stranger.remote, stranger.side, *stranger.handshake);
}

}  // namespace dedloc::net
