// The other end of a run's control plane: asks its backbone, and follows its events.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "project_server/control/messages.hpp"
#include "project_server/control/place.hpp"
#include "project_server/control/sockets.hpp"

namespace dedloc::control {

/// What has become of a request.
enum class Outcome : std::uint8_t {
    kAnswered,  ///< the reply is there
    kAbsent,    ///< no backbone works there, or that on another machine cannot be reached
    kUnknown    ///< no valid reply in time: the command may have been carried out
};
/// What a backbone has answered to a command.
struct Answer {
    Outcome outcome = Outcome::kAbsent;  ///< whether there is a reply
    Reply reply{};                       ///< if kAnswered
};

/// How long ssh may take to connect to another machine.
inline constexpr std::chrono::milliseconds kConnectLimit{5'000};
/// How long a voter on another machine may take to answer a connection.
inline constexpr std::chrono::milliseconds kReachLimit{1'500};

/// Asks the backbone that works there. Repeating a request does no harm. With another machine it
/// takes up to kConnectLimit longer. Errors: InputError (no such folder), IoError.
Answer ask(const Place& place, const Request& request,
           std::chrono::milliseconds limit = std::chrono::seconds{5});

/// Follows a run as long as it exists: through restarts of its backbone, and lost events. Of
/// several places it follows the first that answers, and returns to the first one once that does.
/// Thread: one.
class Subscriber {
  public:
    /// What wait() has seen.
    enum class Change : std::uint8_t {
        kNothing,   ///< nothing new within the limit
        kEvent,     ///< event() has changed the picture
        kSnapshot,  ///< the picture is a new one: at first, and after events were missed
        kAway       ///< no place answers; wait() goes on trying
    };

    /// A backbone on this machine. Errors: InputError (no such folder), IoError.
    explicit Subscriber(const std::filesystem::path& run_folder);
    /// Several places, at least one: they are listed anew when the present one is silent.
    /// Errors: as above.
    explicit Subscriber(Places places);
    ~Subscriber();
    Subscriber(const Subscriber&) = delete;
    Subscriber& operator=(const Subscriber&) = delete;

    /// Waits for a change. While voters on other machines are silent it may take longer, by
    /// kReachLimit for each of them.
    Change wait(std::chrono::milliseconds limit);

    /// The picture as of the last change; of no use before the first kSnapshot.
    const Snapshot& picture() const { return picture_; }
    /// The last event.
    const Event& event() const { return event_; }
    /// Whether the picture is that of the present.
    bool is_live() const { return is_live_; }

  private:
    using Clock = std::chrono::steady_clock;
    struct Remote;

    bool get_snapshot();
    bool get_snapshot(const Place& place);
    std::optional<Snapshot> ask_remote(const RemoteEnd& end);
    Remote& remote_at(const RemoteEnd& end);
    void drop_other_remotes();
    void follow(std::size_t number);
    bool take(const std::string& text);

    const Places places_;
    std::vector<Place> list_;
    std::map<std::string, std::unique_ptr<Remote>> remotes_;  ///< key: RemoteEnd::text()
    std::size_t followed_ = 0;  ///< the place in list_ that socket_ dials
    std::optional<SocketFolder> folder_;
    std::optional<Socket> socket_;
    Snapshot picture_;
    Event event_;
    bool dials_anew_ = false;  ///< the last snapshot came after a failure to get one
    bool is_live_ = false;
    bool is_away_told_ = false;
    Clock::time_point heard_at_{};   ///< when the last message came
    Clock::time_point ask_at_{};     ///< when to ask for a snapshot, unless live
    Clock::time_point return_at_{};  ///< when to ask the first place, if another is followed
};

}  // namespace dedloc::control
