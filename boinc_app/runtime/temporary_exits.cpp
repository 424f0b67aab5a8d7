#include "boinc_app/runtime/temporary_exits.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/platform/files.hpp"

namespace dedloc::runtime {
namespace {

constexpr std::chrono::seconds kShortest = std::chrono::minutes{5};
constexpr std::chrono::seconds kLongest = std::chrono::hours{4};
constexpr unsigned kDoublings = 6;  ///< 5 minutes doubled so often exceed 4 hours
constexpr std::size_t kMaxFileBytes = 32;

}  // namespace

std::chrono::seconds delay_after(unsigned attempts) {
    return std::min(kShortest * (1 << std::min(attempts, kDoublings)), kLongest);
}

std::chrono::seconds TemporaryExits::next_delay() {
    const unsigned attempts = count();
    try {
        platform::replace_file(file_, std::to_string(std::min(attempts, kDoublings) + 1) + '\n');
    } catch (const Error& error) {
        log_warning("{}", error.what());
    }
    return delay_after(attempts);
}

void TemporaryExits::reset() {
    std::error_code failure;
    std::filesystem::remove(file_, failure);
    if (failure) log_warning("cannot delete {}: {}", file_.string(), failure.message());
}

unsigned TemporaryExits::count() const {
    try {
        const std::string text = platform::read_text(file_, kMaxFileBytes);
        unsigned count = 0;
        const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), count);
        const bool is_whole = failure == std::errc{} && end + 1 == text.data() + text.size();
        return is_whole && *end == '\n' ? count : 0;
    } catch (const Error&) {
        return 0;  // there is no file
    }
}

}  // namespace dedloc::runtime
