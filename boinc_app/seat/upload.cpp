#include "boinc_app/seat/upload.hpp"

#include <fmt/format.h>

#include <utility>

namespace dedloc::seat {

Upload::Upload(Saver& saver, runtime::VolunteerRuntime& runtime, std::uint64_t bytes,
               std::function<void(const std::string&)> tell)
    : saver_(saver), runtime_(runtime), bytes_(bytes), tell_(std::move(tell)) {}

void Upload::begin() {
    // Jobs that were made before this output file was declared have none.
    if (!runtime_.may_upload(kCheckpointFile)) {
        phase_ = Phase::kOver;
        return;
    }
    const auto cap = runtime_.limits().upload;
    const auto longest = static_cast<std::uint64_t>(std::chrono::seconds{kLongestUpload}.count());
    if (cap && bytes_ / longest > cap->value()) {
        phase_ = Phase::kOver;
        return tell_(
            fmt::format("the project asks for the model's state, {:.0f} MB, which your "
                        "limit of bandwidth does not allow: not sent",
                        static_cast<double>(bytes_) / 1e6));
    }
    const std::filesystem::path file = runtime_.resolve(kCheckpointFile);
    std::error_code absent;
    if (std::filesystem::exists(file, absent)) {
        // An earlier process of the job has written it, and may have ended before it asked.
        if (!runtime_.is_uploaded(kCheckpointFile)) runtime_.upload(kCheckpointFile);
        phase_ = Phase::kUploading;
        return;
    }
    saver_.export_to(file);
    phase_ = Phase::kWriting;
}

void Upload::go_on(bool is_asked) {
    if (phase_ == Phase::kIdle && is_asked) begin();
    if (phase_ == Phase::kWriting) {
        const auto news = saver_.take_exported();
        if (!news) return;
        if (!news->failure.empty()) {
            phase_ = Phase::kOver;
            return tell_(fmt::format("the state is not sent to the project: {}", news->failure));
        }
        runtime_.upload(kCheckpointFile);
        phase_ = Phase::kUploading;
        return tell_(fmt::format(
            "the project asks for the model's state: sending that of step {}, {:.1f} MB",
            news->step.value(), static_cast<double>(bytes_) / 1e6));
    }
    if (phase_ == Phase::kUploading && runtime_.is_uploaded(kCheckpointFile)) {
        phase_ = Phase::kOver;
        tell_("the project has received the model's state");
    }
}

}  // namespace dedloc::seat
