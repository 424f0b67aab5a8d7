// Keeps a peer's ticket valid: asks the gateway for the first ticket and, long before that expires,
// for the next. A refusal of a renewal also tells the peer early that the project has revoked it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "peer/net/gateway/enrolment.hpp"

namespace dedloc::seat {

/// The results of the ticket requests so far.
struct TicketNews {
    std::optional<formats::EnrolmentReply> first;  ///< the first ticket and what came with it
    std::uint64_t tickets = 0;                     ///< tickets so far
    bool is_reachable = false;                     ///< as the last ticket's reply says
    std::optional<std::string> refusal;            ///< why the gateway refused; requests have ended
    std::optional<std::string> failure;  ///< why there is no first ticket now; requests have ended
};

/// The next ticket is requested after a random time between these two. A ticket is valid for a day,
/// so the gateway may be down for hours before it expires.
struct TicketPace {
    std::chrono::seconds shortest{20 * 60};  ///< time between two requests, lower bound
    std::chrono::seconds longest{30 * 60};   ///< time between two requests, upper bound
    std::chrono::seconds min{15};            ///< the same after ask_soon()
};

/// What a keeper calls on its thread.
struct TicketCalls {
    /// Gets each reply.
    std::function<void(const formats::EnrolmentReply&)> has_ticket;
    /// Before each request: the port for the gateway to dial. `is_unwanted` becomes true when the
    /// keeper is paused or ends. Empty: the port of the options.
    std::function<std::uint16_t(const std::function<bool()>& is_unwanted)> port{};
};

/// Requests tickets on a thread of its own. Not copyable. Thread: any.
class TicketKeeper {
  public:
    /// Starts the thread, which requests the first ticket.
    TicketKeeper(net::EnrolmentOptions options, TicketCalls calls, TicketPace pace = {});
    /// Cancels a request in progress; takes up to a second.
    ~TicketKeeper();
    TicketKeeper(const TicketKeeper&) = delete;
    TicketKeeper& operator=(const TicketKeeper&) = delete;

    /// While paused nothing is sent. A request in progress is cancelled and repeated afterwards.
    void pause(bool is_paused);
    /// Requests the next ticket earlier: after `wait`, but not within TicketPace::least of the last
    /// request. Does nothing before the first ticket.
    void ask_soon(std::chrono::seconds wait);
    /// The results so far.
    TicketNews news() const;

  private:
    void run();
    bool ask();
    bool is_due() const;
    formats::UtcSeconds time_of_next() const;

    net::EnrolmentOptions options_;  ///< used by the thread only; the port changes
    const TicketCalls calls_;
    const TicketPace pace_;

    mutable std::mutex mutex_;  ///< guards the members below, except the thread
    std::condition_variable changed_;
    bool is_paused_ = false;
    bool is_stopping_ = false;
    TicketNews news_;
    formats::UtcSeconds next_{};  ///< time of the next request
    formats::UtcSeconds last_{};  ///< time of the last ticket
    /// Set by ask_soon() since the last request began: the next one is not later.
    formats::UtcSeconds soon_ = formats::UtcSeconds::max();
    std::thread thread_;
};

}  // namespace dedloc::seat
