// What a trial of a processor has chosen is kept for a week in the project's folder, so that jobs
// of one run on one computer compute the same bits from the same samples, and later ones begin
// without a trial.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "boinc_app/training/computation.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::device {

/// The choice of a trial.
struct KeptWay {
    training::Precision precision = training::Precision::kFp32;  ///< fp32 or bf16
    unsigned threads = 1;                                        ///< compute threads
    std::uint64_t micro_batch = 1;                               ///< samples computed at once
    std::string reason{};                                        ///< one line, for people
    bool operator==(const KeptWay&) const = default;
};

/// The file with the choice for a run and what the processor offers. Failures of the disk are lines
/// in the log: a trial is made again.
class WayFile {
  public:
    /// The file's name follows from run, threads, cores and the kind of processor.
    WayFile(const std::filesystem::path& folder, const formats::RunFile& run,
            const training::ProcessorOffer& offer);

    /// The choice; nothing if there is none, it is older than a week, or it is damaged.
    std::optional<KeptWay> read() const;
    /// Keeps a choice and returns the one that is kept: that of another job if that was first.
    KeptWay keep(const KeptWay& way) const;
    /// The file.
    const std::filesystem::path& path() const { return path_; }

  private:
    const std::filesystem::path path_;
    const unsigned max_threads_;
};

}  // namespace dedloc::device
