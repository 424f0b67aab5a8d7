#include "validators/evidence.hpp"

#include <fmt/format.h>

#include <ctime>
#include <string>

#include "peer/platform/files.hpp"
#include "project_server/database/suspicions.hpp"

namespace dedloc::validation {
namespace {

/// Larger receipts are not kept, or computers without number could fill the disk: 65,000 steps.
constexpr std::size_t kMaxKept = std::size_t{1} << 20;

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

}  // namespace

void keep_evidence(server::Database& database, const std::filesystem::path& folder,
                   const RefusedReceipt& receipt) {
    const std::string file =
        fmt::format("receipt_{}_{}", receipt.host, name_of(receipt.refusal.fault));
    const bool is_kept = receipt.bytes.size() <= kMaxKept;
    if (is_kept) {
        std::filesystem::create_directories(folder);
        platform::replace_file(folder / file, receipt.bytes);
    }
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
