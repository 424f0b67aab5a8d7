// What a seat keeps in its slot directory so that a restart, even after kill -9, loses no credit:
// one line for each commit that it took part in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"
#include "peer/formats/receipt.hpp"
#include "peer/platform/durable_file.hpp"

namespace dedloc {

/// The contributions of one key to one run, on disk as text: a head line that names both, then
/// "step samples" a line. A last line without its end was cut by a crash and is dropped.
class ReceiptJournal {
  public:
    /// Errors: IoError; InputError when the file is about another run or key.
    ReceiptJournal(std::filesystem::path path, const RunId& run, const PeerKey& peer);
    ReceiptJournal(const ReceiptJournal&) = delete;
    ReceiptJournal& operator=(const ReceiptJournal&) = delete;

    /// After: the line is on disk. A step that is there already is replaced: the swarm has gone
    /// back and done it again. Errors: IoError.
    void append(StepIndex step, Samples samples);
    /// After: the lines of `step` and later are gone from the disk, the others are there. Errors:
    /// IoError.
    void rewind(StepIndex step);
    /// Ascending by step.
    std::vector<formats::ReceiptLine> lines() const;
    Samples samples() const;

  private:
    void read();

    const std::filesystem::path path_;
    const std::string head_;
    std::map<StepIndex, Samples> lines_;
    std::optional<platform::DurableFile> file_;
};

}  // namespace dedloc
