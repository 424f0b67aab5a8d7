// Asks the protocol for the voters that the administrator wants: compares voters.json with the
// voters of the current generation, and repeats event::VotersWanted until they are the same.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "peer/trainer.hpp"
#include "peer/wire/types.hpp"
#include "project_server/backbone/voters_file.hpp"

namespace dedloc::backbone {

/// Watches one voters.json.
class VotersWatch {
  public:
    using Clock = std::chrono::steady_clock;

    /// `now` is the current head of the history; `events` takes event::VotersWanted.
    VotersWatch(std::filesystem::path file, const Head& now, EventSink events);

    /// A generation has begun. Thread: any.
    void begun(const GenerationRecord& generation);
    /// Call it every second or two. An unusable file is logged once, and changes nothing. Thread:
    /// one.
    void poll(Clock::time_point now);

  private:
    bool is_reached(const std::vector<PeerKey>& keys, std::uint64_t min_generation) const;

    const std::filesystem::path file_;
    const EventSink events_;
    std::optional<WantedVoters> told_;  ///< the last voters passed to the protocol
    Clock::time_point tell_again_{};
    std::string fault_;  ///< error in the file that has been logged; empty: none

    mutable std::mutex mutex_;
    std::uint64_t generation_;     ///< guarded by mutex_
    std::vector<PeerKey> voters_;  ///< guarded by mutex_
};

}  // namespace dedloc::backbone
