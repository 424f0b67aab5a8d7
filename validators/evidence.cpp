#include "validators/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <span>
#include <string>

#include "peer/platform/files.hpp"
#include "project_server/database/suspicions.hpp"

namespace dedloc::validation {
namespace {

/// Larger receipts are not kept: 65,000 steps.
constexpr std::size_t kMaxKept = std::size_t{1} << 20;
/// So much of an unreadable one is kept.
constexpr std::size_t kMaxUnreadable = std::size_t{64} << 10;

const char* name_of(Fault fault) {
    switch (fault) {
        case Fault::kUnreadable:
            return "unreadable";
        case Fault::kOtherRun:
            return "other_run";
        case Fault::kOtherResult:
            return "other_result";
        case Fault::kNotInLedger:
            return "not_in_ledger";
        case Fault::kOtherSamples:
            return "other_samples";
        case Fault::kBeyondRun:
            return "beyond_run";
    }
    return "unknown";
}

/// Bytes of the files of a folder but for the one of that name.
std::uint64_t bytes_in(const std::filesystem::path& folder, const std::string& but) {
    std::uint64_t bytes = 0;
    std::error_code failure;
    for (std::filesystem::directory_iterator entry{folder, failure}, end; !failure && entry != end;
         entry.increment(failure)) {
        std::error_code absent;
        const std::uint64_t size = entry->file_size(absent);
        if (!absent && entry->path().filename() != but) bytes += size;
    }
    return bytes;
}

}  // namespace

void keep_evidence(server::Database& database, const std::filesystem::path& folder,
                   const RefusedReceipt& receipt, std::uint64_t quota) {
    const std::string file =
        fmt::format("receipt_{}_{}", receipt.user, name_of(receipt.refusal.fault));
    auto bytes = std::span{receipt.bytes};
    if (receipt.refusal.fault == Fault::kUnreadable) {
        bytes = bytes.first(std::min(bytes.size(), kMaxUnreadable));
    }
    std::filesystem::create_directories(folder);
    const bool is_kept = bytes.size() <= kMaxKept && bytes.size() + bytes_in(folder, file) <= quota;
    if (is_kept) platform::replace_file(folder / file, bytes);
    server::record_suspicion(
        database,
        {.source = server::SuspicionSource::kReceipt,
         .run = receipt.run,
         .user = receipt.user,
         .host = receipt.host,
         .what = fmt::format("receipt refused: {}", name_of(receipt.refusal.fault)),
         .detail = fmt::format("{}: {}", receipt.result_name, receipt.refusal.reason),
         .evidence =
             is_kept ? fmt::format("{}/{}", folder.filename().string(), file) : std::string{}},
        std::time(nullptr));
}

}  // namespace dedloc::validation
