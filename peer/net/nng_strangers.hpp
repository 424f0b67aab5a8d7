// Connections whose ends are still proving who they are, with a bound on those that came from
// outside: one more than may be, and the oldest is hung up on. So who connects a thousand times and
// says nothing keeps nobody out, not even its neighbours.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "peer/events.hpp"
#include "peer/net/nng_handshake.hpp"
#include "peer/net/transport_options.hpp"

namespace dedloc::net {

/// Whoever may as well be one: an IPv4 address, an IPv6 network of 2⁶⁴ addresses.
std::string neighbourhood_of(const std::string& numeric_host);

/// Thread: any, unless said otherwise.
class NngStrangers final {
  public:
    /// What has become of one, on a thread of nng: a proven one comes with its connection.
    struct Outcome {
        Endpoint remote;
        bool is_dialled = false;
        NngStream stream;                       ///< null if it is not proven
        const Proven* proven = nullptr;         ///< while the call lasts
        std::string why;                        ///< not
        bool is_self = false;                   ///< nor could it ever be: it is this peer itself
        std::chrono::nanoseconds round_trip{};  ///< NngHandshake::round_trip()
    };

    /// Both functions are called on threads of nng; what is referred to outlives this.
    NngStrangers(const SessionOptions& session, const HandshakeLimits& limits,
                 NngHandshake::Revoked revoked, std::function<void(Outcome)> on_over);
    /// Hangs up on all and waits for them.
    ~NngStrangers();
    NngStrangers(const NngStrangers&) = delete;
    NngStrangers& operator=(const NngStrangers&) = delete;

    /// Begins a handshake; its outcome comes once. Not from on_over.
    void greet(NngStream stream, const Endpoint& remote, Side side,
               const std::optional<PeerKey>& expected);
    /// What handshakes that begin from now on prove with.
    void present(const wire::SignedTicket& ticket);
    /// Hangs up on all; who comes later is hung up on at once.
    void stop();

  private:
    struct Stranger {
        Endpoint remote;
        std::string neighbourhood;
        Side side = Side::kListener;
        bool is_counted = false;  ///< came from outside, and nobody has hung up on it
        std::unique_ptr<NngHandshake> handshake{};
    };

    void make_room(const std::string& neighbourhood);
    void hang_up_on_oldest(const std::function<bool(const Stranger&)>& fits);
    void over(Stranger& stranger);
    void bury();

    const HandshakeLimits limits_;
    const NngHandshake::Revoked revoked_;
    const std::function<void(Outcome)> on_over_;

    std::mutex mutex_;  ///< guards what follows
    std::condition_variable all_over_;
    std::shared_ptr<const SessionOptions> session_;  ///< never changed, but replaced
    std::list<Stranger> strangers_;                  ///< the oldest first, also those that are over
    std::vector<const Stranger*> over_;
    std::size_t living_ = 0;
    bool is_stopping_ = false;
};

}  // namespace dedloc::net
