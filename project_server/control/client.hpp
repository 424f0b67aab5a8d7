// The other end of a run's control plane: asks its backbone, and follows its events.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>

#include "project_server/control/messages.hpp"
#include "project_server/control/sockets.hpp"

namespace dedloc::control {

/// What has become of a request.
enum class Outcome : std::uint8_t {
    kAnswered,  ///< the reply is there
    kAbsent,    ///< no backbone works in this folder
    kUnknown    ///< no valid reply in time: the command may have been carried out
};
struct Answer {
    Outcome outcome = Outcome::kAbsent;  ///< whether there is a reply
    Reply reply{};                       ///< if kAnswered
};

/// Asks the backbone that works in a run's folder. Repeating a request does no harm.
/// Errors: InputError (no such folder), IoError.
Answer ask(const std::filesystem::path& run_folder, const Request& request,
           std::chrono::milliseconds limit = std::chrono::seconds{5});

/// Follows a run as long as it exists: through restarts of its backbone, and lost events. Thread:
/// one.
class Subscriber {
  public:
    /// What wait() has seen.
    enum class Change : std::uint8_t {
        kNothing,   ///< nothing new within the limit
        kEvent,     ///< event() has changed the picture
        kSnapshot,  ///< the picture is a new one: at first, and after events were missed
        kAway       ///< the backbone does not answer; wait() goes on trying
    };

    /// Errors: InputError (no such folder), IoError.
    explicit Subscriber(const std::filesystem::path& run_folder);

    /// Waits for a change.
    Change wait(std::chrono::milliseconds limit);

    /// The picture as of the last change; of no use before the first kSnapshot.
    const Snapshot& picture() const { return picture_; }
    /// The last event.
    const Event& event() const { return event_; }
    /// Whether the picture is that of the present.
    bool is_live() const { return is_live_; }

  private:
    using Clock = std::chrono::steady_clock;

    bool get_snapshot();
    bool take(const std::string& text);

    const std::filesystem::path run_folder_;
    const SocketFolder folder_;
    Socket socket_;
    Snapshot picture_;
    Event event_;
    bool is_live_ = false;
    bool is_away_told_ = false;
    Clock::time_point heard_at_{};  ///< when the last message came
    Clock::time_point ask_at_{};    ///< when to ask for a snapshot, unless live
};

}  // namespace dedloc::control
