// The thread sleeps until the time of the next request, at most a minute at a time. A request is
// made without the lock: it gets a port, asks the gateway and hands the reply to has_ticket(); the
// news follows last, so a reader that sees the ticket knows that the transport has it. A refusal
// ends the thread, and so does any failure before the first ticket; a later failure is retried
// after a minute. A call of ask_soon() during a request still counts, because soon_ is cleared
// before the request and read after it.
#include "boinc_app/seat/ticket_keeper.hpp"

#include <sodium.h>

#include <algorithm>
#include <utility>

#include "peer/base/log.hpp"
#include "peer/platform/clock.hpp"
#include "peer/platform/signals_blocked.hpp"

namespace dedloc::seat {
namespace {

constexpr std::chrono::minutes kAfterFailedRequest{1};
/// Longest single wait. Tickets expire in UTC, but waits use a clock that stands still while the
/// machine sleeps.
constexpr std::chrono::minutes kLook{1};
using Duration = std::chrono::system_clock::duration;

}  // namespace

TicketKeeper::TicketKeeper(net::EnrolmentOptions options, TicketCalls calls, TicketPace pace)
    : options_(std::move(options)), calls_(std::move(calls)), pace_(pace) {
    const platform::SignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
}

TicketKeeper::~TicketKeeper() {
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void TicketKeeper::pause(bool is_paused) {
    {
        const std::lock_guard lock(mutex_);
        if (is_paused_ == is_paused) return;
        is_paused_ = is_paused;
    }
    changed_.notify_all();
}

void TicketKeeper::ask_soon(std::chrono::seconds wait) {
    {
        const std::lock_guard lock(mutex_);
        if (!news_.first) return;
        soon_ = std::min(soon_, std::max(platform::utc_now() + wait, last_ + pace_.min));
        next_ = std::min(next_, soon_);
    }
    changed_.notify_all();
}

TicketNews TicketKeeper::news() const {
    const std::lock_guard lock(mutex_);
    return news_;
}

bool TicketKeeper::is_due() const {
    return !is_paused_ && platform::utc_now() >= next_;
}

formats::UtcSeconds TicketKeeper::time_of_next() const {
    const auto more = static_cast<std::uint32_t>((pace_.longest - pace_.shortest).count());
    return platform::utc_now() + pace_.shortest +
           std::chrono::seconds{randombytes_uniform(more + 1)};
}

void TicketKeeper::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        while (!is_stopping_ && !is_due()) {
            const auto rest = next_ - std::chrono::system_clock::now();
            changed_.wait_for(lock, is_paused_ ? Duration{kLook} : std::min<Duration>(kLook, rest));
        }
        if (is_stopping_) return;
        soon_ = formats::UtcSeconds::max();
        lock.unlock();
        const bool goes_on = ask();
        lock.lock();
        if (!goes_on) return;
    }
}

/// Requests one ticket. False: make no further requests.
bool TicketKeeper::ask() {
    const auto is_unwanted = [this] {
        const std::lock_guard lock(mutex_);
        return is_paused_ || is_stopping_;
    };
    try {
        if (calls_.port) options_.request.port = calls_.port(is_unwanted);
        const auto reply = net::enrol(options_, is_unwanted);
        if (!reply) return true;
        calls_.has_ticket(*reply);
        const std::lock_guard lock(mutex_);
        last_ = platform::utc_now();
        next_ = std::min(time_of_next(), soon_);
        if (!news_.first) news_.first = reply;
        ++news_.tickets;
        news_.is_reachable = reply->is_reachable;
        return true;
    } catch (const net::EnrolmentRefused& error) {
        const std::lock_guard lock(mutex_);
        news_.refusal = error.what();
        return false;
    } catch (const std::exception& error) {
        const std::lock_guard lock(mutex_);
        next_ = platform::utc_now() + kAfterFailedRequest;
        if (news_.first) {
            log_warning("no new ticket: {}", error.what());
            return true;
        }
        news_.failure = error.what();
        return false;
    }
}

}  // namespace dedloc::seat
