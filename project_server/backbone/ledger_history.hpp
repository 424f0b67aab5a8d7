// Reads a range of entries from this voter's ledger, for another voter that has missed them,
// without reading the file from its start. It remembers places in the file at even distances, which
// double when there are too many places, and the end of the last answer, because the next query
// usually begins there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "peer/base/units.hpp"
#include "peer/ledger/entry_codec.hpp"
#include "project_server/backbone/ledger.hpp"

namespace dedloc::backbone {

/// Random access to the ledger file. Thread: take() is called by the writer's, read() by one other.
class LedgerHistory {
  public:
    /// Limit of remembered places; each holds a roster of all members so far.
    static constexpr std::size_t kMaxPlaces = 128;

    /// The file is opened at the first read().
    LedgerHistory(std::filesystem::path path, const LedgerOwner& owner);

    /// A LedgerVisitor; must be called for every record.
    void take(const LedgerRecord& record, const LedgerReader::Place& after);

    /// At most `max_entries` consecutive entries from step `step` of `generation` on: decisions
    /// that no later generation has made void, and the generations that followed. Empty if that
    /// place is not in the ledger, or is its end. Throws IoError.
    /// Cost  reads at most twice the distance between places (512 records in a ledger of 100,000);
    ///       only the answer itself if the query continues the last one
    std::vector<ledger::Entry> read(std::uint64_t generation, StepIndex step,
                                    std::size_t max_entries);

  private:
    /// What the writer has recorded so far, as far as an answer needs it.
    struct Start {
        LedgerReader::Place place;  ///< before the first entry
        std::vector<GenerationRecord> generations;
        Head end;
    };

    std::optional<Start> start_of(std::uint64_t generation, StepIndex step) const;

    const std::filesystem::path path_;
    const LedgerOwner owner_;
    std::optional<LedgerReader> reader_;  ///< opened by the first read(); only its thread uses it
    std::optional<LedgerReader::Place> first_;  ///< where the file begins; likewise
    std::optional<LedgerReader::Place> last_;   ///< where the last answer ended; likewise

    mutable std::mutex mutex_;  ///< guards what follows
    std::vector<LedgerReader::Place> places_;
    std::size_t distance_ = 16;  ///< entries between two places
    std::size_t since_place_ = 0;
    std::vector<GenerationRecord> generations_;
    Head end_;
};

}  // namespace dedloc::backbone
