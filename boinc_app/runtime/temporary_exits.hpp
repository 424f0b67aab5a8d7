// How long a job that cannot go on now waits before its next attempt. BOINC's client fails a task
// after 100 temporary exits, so the delay grows: 5 minutes, doubled after each attempt that trains
// nothing, up to 4 hours. 100 attempts then take 16 days.
#pragma once

#include <chrono>
#include <filesystem>

namespace dedloc::runtime {

/// The delay after this many earlier attempts in a row that trained nothing.
std::chrono::seconds delay_after(unsigned attempts);

/// Counts the attempts in a row that trained nothing, in a file of the slot.
class TemporaryExits {
  public:
    /// The file need not exist. A file that cannot be read counts as none.
    explicit TemporaryExits(std::filesystem::path file) : file_(std::move(file)) {}

    /// Counts one more attempt on disk and returns how long to wait after it. If the disk is full
    /// the count stays, which is logged.
    std::chrono::seconds next_delay();
    /// Training has gone on: the next delay is the shortest again. Deletes the file. Cost: nothing
    /// if there is none.
    void reset();

  private:
    unsigned count() const;

    const std::filesystem::path file_;
};

}  // namespace dedloc::runtime
