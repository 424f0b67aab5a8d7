// The file has two lines: precision, threads and micro-batch, and the reason. It is written beside
// its name and then linked to it, which fails if another job was faster; that job's choice counts.
#include "boinc_app/device/kept_way.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <sstream>
#include <system_error>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/platform/cores.hpp"
#include "peer/platform/files.hpp"

namespace dedloc::device {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxBytes = 4096;
constexpr std::uint64_t kMaxKeptMicroBatch = 64;
constexpr std::chrono::hours kMaxAge{7 * 24};

bool is_fresh(const fs::path& path) {
    std::error_code failure;
    const auto written = fs::last_write_time(path, failure);
    if (failure) return false;
    const auto age = fs::file_time_type::clock::now() - written;
    return age >= -kMaxAge && age <= kMaxAge;
}

std::string file_name(const formats::RunFile& run, const training::ProcessorOffer& offer) {
    const std::string key = fmt::format("{} {} {} {}", formats::run_id(run).hex(), offer.threads,
                                        offer.cores, platform::processor_kind());
    return "dedloc_trial_" + blake2b(bytes_of(key)).hex().substr(0, 16);
}

std::string text_of(const KeptWay& way) {
    return fmt::format("{} {} {}\n{}\n", training::name_of(way.precision), way.threads,
                       way.micro_batch, way.reason);
}

}  // namespace

WayFile::WayFile(const fs::path& folder, const formats::RunFile& run,
                 const training::ProcessorOffer& offer)
    : path_(folder / file_name(run, offer)), max_threads_(offer.threads) {}

std::optional<KeptWay> WayFile::read() const {
    if (!is_fresh(path_)) return std::nullopt;
    KeptWay way;
    std::string precision;
    try {
        std::istringstream text{platform::read_text(path_, kMaxBytes)};
        text >> precision >> way.threads >> way.micro_batch >> std::ws;
        std::getline(text, way.reason);
        if (!text) return std::nullopt;
    } catch (const Error& error) {
        log_info("the choice of an earlier job is not used: {}", error.what());
        return std::nullopt;
    }
    const bool is_bf16 = precision == training::name_of(training::Precision::kBf16);
    if (!is_bf16 && precision != training::name_of(training::Precision::kFp32)) {
        return std::nullopt;
    }
    if (is_bf16) way.precision = training::Precision::kBf16;
    const bool is_possible = way.threads >= 1 && way.threads <= max_threads_ &&
                             way.micro_batch >= 1 && way.micro_batch <= kMaxKeptMicroBatch;
    return is_possible ? std::optional{way} : std::nullopt;
}

KeptWay WayFile::keep(const KeptWay& way) const {
    fs::path written = path_;
    written += fmt::format(".{}", ::getpid());
    try {
        platform::replace_file(written, text_of(way));
    } catch (const Error& error) {
        log_info("the choice is not kept for other jobs: {}", error.what());
        return way;
    }
    std::error_code failure;
    fs::create_hard_link(written, path_, failure);
    if (failure && !read()) {  // what is there is old or damaged
        platform::remove_or_warn(path_);
        fs::create_hard_link(written, path_, failure);
    }
    platform::remove_or_warn(written);
    if (!failure) return way;
    if (const auto of_other = read()) return *of_other;
    log_info("the choice is not kept for other jobs: {}", failure.message());
    return way;
}

}  // namespace dedloc::device
