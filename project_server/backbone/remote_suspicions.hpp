// Collects what voters on other machines hold against peers: only the coordinator accuses, and that
// may be any voter. Follows their events (project_server/control) and passes their suspicions on.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "project_server/control/messages.hpp"

namespace dedloc::backbone {

/// Follows the voters of one run, each on a thread of its own. What a voter notices while this
/// process does not run, or cannot reach it, is in that voter's log only.
class RemoteSuspicions {
  public:
    /// Called with each suspicion. Thread: any, also several at once.
    using Sink = std::function<void(const control::Suspicion&)>;

    /// `run_folder` is as in remote_voters().
    RemoteSuspicions(std::filesystem::path run_folder, Sink sink);
    /// Ends all threads; takes up to the time in which a voter cannot be reached.
    ~RemoteSuspicions();
    RemoteSuspicions(const RemoteSuspicions&) = delete;
    RemoteSuspicions& operator=(const RemoteSuspicions&) = delete;

    /// Reads which voters there are; call it every few seconds. A damaged file changes nothing.
    /// Thread: one.
    void poll();

  private:
    class Follower;

    const std::filesystem::path run_folder_;
    const Sink sink_;
    std::vector<std::unique_ptr<Follower>> followers_;
};

}  // namespace dedloc::backbone
