// Caps on the traffic of all links together: the volunteer may limit what the app sends and
// receives.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "peer/base/units.hpp"
#include "peer/net/tcp/tcp_socket.hpp"

namespace dedloc::net {

/// A token bucket: in any time t, at most rate · t + kBurst bytes may be moved. Links that must
/// wait are served in the order in which they came. Thread: the transport's.
class RateLimit {
  public:
    static constexpr std::size_t kBurst = 32 << 10;  ///< bytes; also the most of one turn
    static constexpr std::size_t kMin = 4 << 10;     ///< a turn begins with at least these bytes
    using Turn = std::function<void(std::size_t)>;

    explicit RateLimit(const Executor& executor) : timer_(executor) {}

    /// Nothing: no limit; links that wait get their turn at once.
    void set(std::optional<Bandwidth> rate);
    /// Bytes that may be moved now; 0: only after when_allowed(). At most kBurst if there is a
    /// limit.
    std::size_t allowance();
    /// Calls `turn` with what may be moved, not before this returns.
    void when_allowed(Turn turn);
    /// These bytes were moved; they may be more than what was allowed.
    void spend(std::size_t bytes);

  private:
    using Clock = std::chrono::steady_clock;

    void refill();
    void wait_again();
    void serve();

    Timer timer_;
    std::optional<Bandwidth> rate_;
    double balance_ = kBurst;  ///< below 0: more was moved than allowed
    Clock::time_point filled_ = Clock::now();
    std::deque<Turn> waiting_;
};

/// What all links of a transport have sent and received together, and the caps on it. Counts bytes
/// of frames with their heads; those of TCP, handshakes and the DHT come on top.
struct LinkTraffic {
    RateLimit upload;                         ///< thread: the transport's
    RateLimit download;                       ///< thread: the transport's
    std::atomic<std::uint64_t> sent = 0;      ///< bytes; thread: any
    std::atomic<std::uint64_t> received = 0;  ///< bytes; thread: any
};

}  // namespace dedloc::net
