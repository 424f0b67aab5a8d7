// Shows how far the build of a corpus has come.
#pragma once

#include <chrono>
#include <string>

#include "project_server/corpus/build.hpp"

namespace dedloc::cli {

/// One line: task, megabytes, share, rate over the task so far, time left. `elapsed` is the time
/// since the task began, at which `begin` bytes were done.
std::string progress_line(const corpus::BuildProgress& progress, std::uint64_t begin,
                          std::chrono::duration<double> elapsed);

/// Prints progress to standard error: on a terminal one line that is overwritten, elsewhere a line
/// every five seconds.
class BuildView final {
  public:
    BuildView();
    BuildView(const BuildView&) = delete;
    BuildView& operator=(const BuildView&) = delete;
    /// Ends the line on a terminal.
    ~BuildView();

    /// Prints unless it has just printed.
    void show(const corpus::BuildProgress& progress);

  private:
    using Clock = std::chrono::steady_clock;
    const bool is_terminal_;
    bool has_task_ = false;
    corpus::BuildProgress::Task task_{};
    std::uint64_t begin_ = 0;
    Clock::time_point task_began_;
    Clock::time_point printed_ = Clock::now();
};

}  // namespace dedloc::cli
