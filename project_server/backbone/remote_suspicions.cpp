#include "project_server/backbone/remote_suspicions.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <variant>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/platform/signals_blocked.hpp"
#include "project_server/backbone/remote_voters.hpp"
#include "project_server/control/client.hpp"

namespace dedloc::backbone {
namespace {

/// How long a thread waits at once.
constexpr std::chrono::milliseconds kWait{200};

}  // namespace

/// Follows one voter.
class RemoteSuspicions::Follower {
  public:
    Follower(control::RemoteEnd end, const Sink& sink) : end_(std::move(end)), sink_(sink) {
        const platform::SignalsBlocked blocked;
        thread_ = std::thread{[this] { follow(); }};
    }
    ~Follower() {
        end_soon();
        thread_.join();
    }
    Follower(const Follower&) = delete;
    Follower& operator=(const Follower&) = delete;

    void end_soon() { is_stopping_ = true; }
    const control::RemoteEnd& end() const { return end_; }

  private:
    void follow() {
        try {
            control::Subscriber subscriber{[this] { return std::vector<control::Place>{end_}; }};
            while (!is_stopping_) {
                if (subscriber.wait(kWait) != control::Subscriber::Change::kEvent) continue;
                const auto& event = subscriber.event();
                if (const auto* suspicion = std::get_if<control::Suspicion>(&event.what)) {
                    sink_(*suspicion);
                }
            }
        } catch (const Error& error) {
            log_warning("the suspicions of the voter at {} are not collected: {}", end_.text(),
                        error.what());
        }
    }

    const control::RemoteEnd end_;
    const Sink& sink_;
    std::atomic<bool> is_stopping_ = false;
    std::thread thread_;
};

RemoteSuspicions::RemoteSuspicions(std::filesystem::path run_folder, Sink sink)
    : run_folder_(std::move(run_folder)), sink_(std::move(sink)) {}

RemoteSuspicions::~RemoteSuspicions() {
    for (const auto& follower : followers_) follower->end_soon();
}

void RemoteSuspicions::poll() {
    std::vector<control::RemoteEnd> wanted;
    try {
        wanted = remote_voters(run_folder_);
    } catch (const Error&) {
        return;  // VotersWatch logs it
    }
    std::erase_if(followers_, [&](const auto& follower) {
        return std::ranges::find(wanted, follower->end()) == wanted.end();
    });
    for (const control::RemoteEnd& end : wanted) {
        const bool is_followed = std::ranges::any_of(
            followers_, [&](const auto& follower) { return follower->end() == end; });
        if (!is_followed) followers_.push_back(std::make_unique<Follower>(end, sink_));
    }
}

}  // namespace dedloc::backbone
