#include "boinc_app/seat/reachability.hpp"

#include "peer/net/port_mapping.hpp"

namespace dedloc::seat {
namespace {

/// Answers in a row after which a port counts as one that cannot be dialled any more.
constexpr unsigned kEnough = 2;

}  // namespace

Reachability::Reachability(const net::TcpTransport& transport, net::DhtDirectory& directory,
                           bool maps_port)
    : transport_(transport), directory_(directory), maps_port_(maps_port) {}

std::uint16_t Reachability::port_to_try(const std::function<bool()>& is_unwanted) {
    if (!maps_port_) {
        tried_ = transport_.bound_port();
    } else if (asks_router_.exchange(false)) {
        tried_ = net::map_port(transport_, directory_, is_elsewhere_.exchange(false), is_unwanted);
        if (is_unwanted()) asks_router_ = true;  // it may not have had time to answer
    }
    return tried_;
}

Reachability::Verdict Reachability::judge(bool is_reachable) {
    if (is_reachable) {
        contradictions_ = 0;
        told_ = tried_;
        return {.port = told_, .asks_again = false};
    }
    asks_router_ = true;
    ++contradictions_;
    if (contradictions_ >= kEnough) told_ = 0;
    return {.port = told_, .asks_again = told_ != 0};
}

}  // namespace dedloc::seat
