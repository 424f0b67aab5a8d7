// Keeps a peer's ticket good: asks the gateway for the first and, long before it expires, for the
// next. Asking so often is also how a peer soon hears that the project wants it no more.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "peer/net/gateway/enrolment.hpp"

namespace dedloc {

/// What has come of asking so far.
struct TicketNews {
    std::optional<formats::EnrolmentReply> first;  ///< of the first answer
    std::optional<std::string> refusal;            ///< the gateway said no: asking is over
    std::optional<std::string> failure;  ///< nobody gave the first for too long: asking is over
};

/// The next ticket is asked for after a time between these, by chance. Of a day's ticket so much is
/// left then that the gateway may well be away for hours.
struct TicketPace {
    std::chrono::seconds shortest{20 * 60};
    std::chrono::seconds longest{30 * 60};
};

/// Not copyable. Thread: any.
class TicketKeeper {
  public:
    /// Begins to ask, on a thread of its own, which also calls `has_ticket` with each answer.
    TicketKeeper(net::EnrolmentOptions options,
                 std::function<void(const formats::EnrolmentReply&)> has_ticket,
                 TicketPace pace = {});
    /// Stops asking, within a second.
    ~TicketKeeper();
    TicketKeeper(const TicketKeeper&) = delete;
    TicketKeeper& operator=(const TicketKeeper&) = delete;

    /// While paused nothing is sent. What is being asked is given up, and asked again afterwards.
    void pause(bool is_paused);
    TicketNews news() const;

  private:
    void run();
    bool ask();
    bool is_due() const;
    formats::UtcSeconds time_of_next() const;

    const net::EnrolmentOptions options_;
    const std::function<void(const formats::EnrolmentReply&)> has_ticket_;
    const TicketPace pace_;

    mutable std::mutex mutex_;  ///< guards what follows, up to the thread
    std::condition_variable changed_;
    bool is_paused_ = false;
    bool is_stopping_ = false;
    TicketNews news_;
    formats::UtcSeconds next_{};  ///< when to ask again
    std::thread thread_;
};

}  // namespace dedloc
