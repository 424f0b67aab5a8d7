#include "boinc_app/ticket_keeper.hpp"

#include <sodium.h>

#include <algorithm>
#include <utility>

#include "peer/base/log.hpp"
#include "peer/platform/clock.hpp"
#include "peer/platform/signals_blocked.hpp"

namespace dedloc {
namespace {

constexpr std::chrono::minutes kAfterFailure{1};
/// Longest single wait. Tickets expire in UTC, but waits use a clock that stands still while the
/// machine sleeps.
constexpr std::chrono::minutes kLook{1};
using Duration = std::chrono::system_clock::duration;

}  // namespace

TicketKeeper::TicketKeeper(net::EnrolmentOptions options,
                           std::function<void(const formats::EnrolmentReply&)> has_ticket,
                           TicketPace pace)
    : options_(std::move(options)), has_ticket_(std::move(has_ticket)), pace_(pace) {
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
        lock.unlock();
        const bool goes_on = ask();
        lock.lock();
        if (!goes_on) return;
    }
}

/// Requests one ticket. False: make no further requests.
bool TicketKeeper::ask() {
    try {
        const auto reply = net::enrol(options_, [this] {
            const std::lock_guard lock(mutex_);
            return is_paused_ || is_stopping_;
        });
        if (!reply) return true;
        has_ticket_(*reply);
        const std::lock_guard lock(mutex_);
        next_ = time_of_next();
        if (!news_.first) news_.first = reply;
        return true;
    } catch (const net::EnrolmentRefused& error) {
        const std::lock_guard lock(mutex_);
        news_.refusal = error.what();
        return false;
    } catch (const std::exception& error) {
        const std::lock_guard lock(mutex_);
        next_ = platform::utc_now() + kAfterFailure;
        if (news_.first) {
            log_warning("no new ticket: {}", error.what());
            return true;
        }
        news_.failure = error.what();
        return false;
    }
}

}  // namespace dedloc
