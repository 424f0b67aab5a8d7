// The upload of a trainer's state to the project, as an output file of the job while it runs. The
// project asks for it with a ticket, when it has no recent checkpoint of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "boinc_app/runtime/volunteer_runtime.hpp"
#include "boinc_app/seat/saver.hpp"

namespace dedloc::seat {

/// Open name of the output file.
inline constexpr const char* kCheckpointFile = "checkpoint";
/// An upload that the volunteer's limit would stretch beyond this is not begun.
inline constexpr std::chrono::hours kLongestUpload{2};

/// Uploads one state in the life of a job: BOINC uploads each output file once. Thread: main.
class Upload {
  public:
    /// `bytes` is the size of the file. `tell` takes sentences for the volunteer. All references
    /// must outlive it.
    Upload(Saver& saver, runtime::VolunteerRuntime& runtime, std::uint64_t bytes,
           std::function<void(const std::string&)> tell);

    /// Goes on with what is to be done next. `is_asked`: the project wants the state. Called again
    /// and again.
    void go_on(bool is_asked);

  private:
    enum class Phase : std::uint8_t { kIdle, kWriting, kUploading, kOver };
    void begin();

    Saver& saver_;
    runtime::VolunteerRuntime& runtime_;
    const std::uint64_t bytes_;
    const std::function<void(const std::string&)> tell_;
    Phase phase_ = Phase::kIdle;
};

}  // namespace dedloc::seat
