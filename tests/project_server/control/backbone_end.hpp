// The sockets of a run without a backbone: a test publishes what it likes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "peer/base/error.hpp"
#include "project_server/control/messages.hpp"
#include "project_server/control/picture.hpp"
#include "project_server/control/sockets.hpp"

namespace dedloc::control {

inline Happening step(std::uint64_t number) {
    return StepCommitted{{.step = number, .samples = 1, .digest = {}}};
}

/// A backbone's end: publishes events, answers every command with the picture, and pauses and
/// resumes as it is told.
class BackboneEnd {
  public:
    using Clock = std::chrono::steady_clock;

    explicit BackboneEnd(const std::filesystem::path& folder, std::uint64_t session = 5)
        : folder_(folder) {
        picture_.session = session;
        picture_.run = "first";
        publisher_.listen(folder_.path(kEventsSocket));
        replier_.emplace(folder_.path(kCommandsSocket), 2, [this](const std::string& text) {
            ++asked_;
            return answer(text);
        });
    }
    void happen(Happening what) {
        const Event event{.session = picture_.session,
                          .sequence = picture_.sequence + 1,
                          .time = 1,
                          .what = std::move(what)};
        const std::lock_guard lock{mutex_};
        (void)apply(picture_, event);
        publisher_.publish(write(event));
    }
    void publish(const std::string& text) { publisher_.publish(text); }
    std::string answer(const std::string& text) {
        const auto now = Clock::now();
        Command command{};
        try {
            command = read_request(text).command;
        } catch (const InputError& error) {
            return write(Reply{.is_done = false, .note = error.what()});
        }
        const bool is_pause = command == Command::kPause;
        const bool is_order = is_pause || command == Command::kResume;
        if (is_order) happen(StateChanged{is_pause ? RunState::kPaused : RunState::kRunning});
        const std::lock_guard lock{mutex_};
        if (is_order) told_at_ = now;
        return write(Reply{.is_done = true, .note = "ok", .step = {}, .snapshot = picture_});
    }
    Snapshot picture() const {
        const std::lock_guard lock{mutex_};
        return picture_;
    }
    int asked() const { return asked_; }
    /// When the last pause or resume came.
    Clock::time_point told_at() const {
        const std::lock_guard lock{mutex_};
        return told_at_;
    }

  private:
    const SocketFolder folder_;
    mutable std::mutex mutex_;
    Snapshot picture_;
    Clock::time_point told_at_{};
    std::atomic<int> asked_ = 0;
    Socket publisher_{Socket::Kind::kPublish};
    std::optional<Replier> replier_;
};

}  // namespace dedloc::control
