// The loop takes one event at a time, updates the reactor's own state with it (open links,
// directory), passes it to the peer and executes the returned actions in order. While no event
// waits and no deadline has passed, the peer may do work ahead in small pieces. Deadlines use
// CLOCK_BOOTTIME, waiting uses steady_clock: each wait is at most a second long, because a sleep of
// the machine is visible to the first clock only. stop() posts event::LeaveRequested; the loop ends
// when all links are closed or kTimeToLeave has passed.
#include "peer/net/reactor.hpp"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <set>
#include <thread>
#include <utility>
#include <variant>

#include "peer/base/check.hpp"
#include "peer/platform/signals_blocked.hpp"

namespace dedloc::net {

namespace {

/// Longest time from event::LeaveRequested to the end of the thread. It includes finishing sends
/// (RoundRules::leave_limit) and the polite closing of links.
constexpr std::chrono::seconds kTimeToLeave{2};
/// Longest wait. A wait stands still while the machine sleeps, deadlines do not (see now()): after
/// a sleep they are checked within this time.
constexpr std::chrono::seconds kMaxWait{1};

/// The protocol's time. CLOCK_BOOTTIME also counts while the machine sleeps, unlike steady_clock:
/// when a laptop wakes up in the morning, all its timeouts have passed. Like steady_clock it never
/// goes back.
TimePoint now() {
    timespec time{};
    DEDLOC_CHECK(clock_gettime(CLOCK_BOOTTIME, &time) == 0, "this system has no CLOCK_BOOTTIME");
    return TimePoint{std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec}};
}

}  // namespace

class Reactor::Impl {
  public:
    Impl(PeerConfig config, const KeyPair& key, const ReactorParts& parts)
        : queue_(parts.queue),
          transport_(parts.transport),
          directory_(parts.directory),
          trainer_(parts.trainer),
          host_(parts.host),
          peer_(std::move(config), key, parts.workers) {}

    void start();
    void post(Event event) { queue_.post(std::move(event)); }
    void stop();

  private:
    void run();
    void drive();
    void take_in(const Event& event);
    void handle(const Event& event);
    bool is_over(TimePoint time) const;
    void close_links();

    void act(const action::Dial& dial) { transport_.dial(dial.remote); }
    void act(const action::Send& send) { transport_.send(send.link, send.frame); }
    void act(const action::Close& close) { transport_.close(close.link); }
    void act(TrainerAction action) { trainer_.perform(std::move(action)); }
    void act(HostAction action) {
        if (std::holds_alternative<action::Left>(action)) has_left_ = true;
        host_.perform(action);
    }

    EventQueue& queue_;
    Transport& transport_;
    Directory& directory_;
    Trainer& trainer_;
    Host& host_;
    std::atomic<bool> is_stopping_ = false;
    std::thread thread_;

    // Used by the network thread only.
    Peer peer_;
    Actions actions_;
    std::set<LinkId> open_links_;
    bool is_joined_ = true;  ///< not between event::LeaveRequested and event::ReturnRequested
    bool has_left_ = false;  ///< the peer has left and was not asked to return
    bool closes_links_ = false;
    TimePoint leaves_until_ = kNever;  ///< the thread ends at this time; kNever: it goes on
};

void Reactor::Impl::start() {
    const platform::SignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
}

void Reactor::Impl::stop() {
    if (!thread_.joinable()) return;
    is_stopping_ = true;
    queue_.post(event::LeaveRequested{});
    thread_.join();
}

void Reactor::Impl::run() {
    pthread_setname_np(pthread_self(), "dedloc-peer");
    try {
        drive();
    } catch (const std::exception& error) {
        host_.failed(error.what());
    }
    queue_.close();
}

void Reactor::Impl::drive() {
    directory_.join(transport_.listening_port());
    while (true) {
        const TimePoint begin = now();
        if (is_over(begin)) return;
        // The deadline may have passed already or be far away.
        const TimePoint deadline =
            std::clamp(std::min(peer_.next_deadline(), leaves_until_), begin, begin + kMaxWait);
        auto event = queue_.take({});
        if (!event && begin < deadline && peer_.work_ahead()) continue;
        if (!event) event = queue_.take(std::chrono::steady_clock::now() + (deadline - begin));
        if (event) {
            take_in(*event);
            handle(*event);
        } else if (now() >= peer_.next_deadline()) {
            handle(event::Tick{});
        }
    }
}

/// Updates the reactor's own state; called before the peer gets the event.
void Reactor::Impl::take_in(const Event& event) {
    if (const auto* received = std::get_if<event::FrameReceived>(&event)) {
        transport_.taken(received->link);
    } else if (const auto* opened = std::get_if<event::LinkOpened>(&event)) {
        open_links_.insert(opened->link);
    } else if (const auto* closed = std::get_if<event::LinkClosed>(&event)) {
        open_links_.erase(closed->link);
        transport_.taken(closed->link);
    } else if (std::holds_alternative<event::LeaveRequested>(event)) {
        is_joined_ = false;
        directory_.leave();
    } else if (std::holds_alternative<event::ReturnRequested>(event) && !is_stopping_) {
        has_left_ = false;
        is_joined_ = true;
        directory_.join(transport_.listening_port());
    } else if (std::holds_alternative<event::ListeningPortChanged>(event) && is_joined_) {
        directory_.join(transport_.listening_port());
    }
}

void Reactor::Impl::handle(const Event& event) {
    peer_.handle(now(), event, actions_);
    for (Action& action : actions_) {
        std::visit([this](auto& what) { act(std::move(what)); }, action);
    }
    actions_.clear();
    if (!is_stopping_) return;
    if (leaves_until_ == kNever && std::holds_alternative<event::LeaveRequested>(event)) {
        leaves_until_ = now() + kTimeToLeave;
    }
    if (leaves_until_ != kNever && has_left_) close_links();
}

void Reactor::Impl::close_links() {
    if (std::exchange(closes_links_, true)) return;
    for (const LinkId link : open_links_) transport_.close(link);
}

bool Reactor::Impl::is_over(TimePoint time) const {
    return (closes_links_ && open_links_.empty()) || time >= leaves_until_;
}

Reactor::Reactor(PeerConfig config, const KeyPair& key, const ReactorParts& parts) {
    config.listening_port = parts.transport.listening_port();
    impl_ = std::make_unique<Impl>(std::move(config), key, parts);
}

Reactor::~Reactor() {
    impl_->stop();
}

void Reactor::start() {
    impl_->start();
}

void Reactor::post(Event event) {
    impl_->post(std::move(event));
}

void Reactor::stop() {
    impl_->stop();
}

}  // namespace dedloc::net
