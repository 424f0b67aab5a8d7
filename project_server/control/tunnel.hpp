// Both sockets of a voter on another machine, in a folder of this one. OpenSSH forwards them: a
// child `ssh -N -L` listens at sockets here and connects to those there. It logs in as this user's
// `ssh USER@HOST` does, and asks nothing; a host key that is not known is refused. Only this user
// can connect to the sockets here.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "peer/platform/scratch_folder.hpp"
#include "project_server/control/place.hpp"

namespace dedloc::control {

/// A forwarding. Thread: one, and ssh ends with it.
class Tunnel {
  public:
    /// Starts ssh. Errors: IoError (no folder for the sockets).
    explicit Tunnel(RemoteEnd end);
    /// Ends ssh.
    ~Tunnel();
    Tunnel(const Tunnel&) = delete;
    Tunnel& operator=(const Tunnel&) = delete;

    /// The folder of the sockets. ssh accepts every connection, then closes it if no voter works.
    const std::filesystem::path& folder() const { return folder_.path(); }
    /// Whether ssh is connected, as far as it knows: it takes 10 s to notice a dead connection.
    /// Starts ssh again if it has ended, after 0.5 s to 10 s.
    bool is_up();
    /// Waits until ssh is connected. False if it is not within the limit, or has ended.
    bool wait(std::chrono::milliseconds limit);

  private:
    using Clock = std::chrono::steady_clock;

    void start();
    void ended(const std::string& why);

    const RemoteEnd end_;
    const platform::ScratchFolder folder_;
    std::optional<pid_t> ssh_;           ///< nothing: not running
    std::chrono::milliseconds backoff_;  ///< pause between an end and the next start
    Clock::time_point start_at_{};       ///< the next start, unless it is running
    std::string failure_;                ///< why it has ended last, as logged
};

}  // namespace dedloc::control
