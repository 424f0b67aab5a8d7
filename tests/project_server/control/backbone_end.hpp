// The sockets of a run without a backbone: a test publishes what it likes.
#pragma once

#include <atomic>
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

/// A backbone's end: publishes events, and answers every command with the picture.
class BackboneEnd {
  public:
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
        try {
            (void)read_request(text);
        } catch (const InputError& error) {
            return write(Reply{.is_done = false, .note = error.what()});
        }
        const std::lock_guard lock{mutex_};
        return write(Reply{.is_done = true, .note = "ok", .step = {}, .snapshot = picture_});
    }
    const Snapshot& picture() const { return picture_; }
    int asked() const { return asked_; }

  private:
    const SocketFolder folder_;
    std::mutex mutex_;
    Snapshot picture_;
    std::atomic<int> asked_ = 0;
    Socket publisher_{Socket::Kind::kPublish};
    std::optional<Replier> replier_;
};

}  // namespace dedloc::control
