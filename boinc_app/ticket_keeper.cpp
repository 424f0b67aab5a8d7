#include "boinc_app/ticket_keeper.hpp"

#include <sodium.h>

#include <utility>

#include "peer/base/log.hpp"
#include "peer/net/signals_blocked.hpp"

namespace dedloc {
namespace {

/// The next ticket is asked for after 20 to 30 minutes: of a day's ticket so much is left that the
/// gateway may well be away for hours.
constexpr std::uint32_t kShortestSeconds = 20 * 60;
constexpr std::uint32_t kMoreSeconds = 10 * 60;
constexpr std::chrono::minutes kAfterFailure{1};
/// No wait is longer: a machine that slept counts its tickets by UTC, its waits by another clock.
constexpr std::chrono::minutes kLook{1};

wire::UtcSeconds now() {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

}  // namespace

TicketKeeper::TicketKeeper(net::EnrolmentOptions options,
                           std::function<void(const wire::EnrolmentReply&)> has_ticket)
    : options_(std::move(options)), has_ticket_(std::move(has_ticket)) {
    const net::SignalsBlocked blocked;
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
    return !is_paused_ && now() >= next_;
}

void TicketKeeper::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        while (!is_stopping_ && !is_due()) changed_.wait_for(lock, kLook);
        if (is_stopping_) return;
        lock.unlock();
        const bool goes_on = ask();
        lock.lock();
        if (!goes_on) return;
    }
}

/// False: no more asking.
bool TicketKeeper::ask() {
    try {
        const auto reply = net::enrol(options_, [this] {
            const std::lock_guard lock(mutex_);
            return is_paused_ || is_stopping_;
        });
        if (!reply) return true;
        has_ticket_(*reply);
        const std::lock_guard lock(mutex_);
        next_ = now() + std::chrono::seconds{kShortestSeconds + randombytes_uniform(kMoreSeconds)};
        if (!news_.first) news_.first = reply;
        return true;
    } catch (const net::EnrolmentRefused& error) {
        const std::lock_guard lock(mutex_);
        news_.refusal = error.what();
        return false;
    } catch (const std::exception& error) {
        const std::lock_guard lock(mutex_);
        next_ = now() + kAfterFailure;
        if (news_.first) {
            log_warning("no new ticket: {}", error.what());
            return true;
        }
        news_.failure = error.what();
        return false;
    }
}

}  // namespace dedloc
