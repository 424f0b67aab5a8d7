// The file that a seat keeps in its slot directory so that a restart, even after kill -9, loses no
// credit: one line for each commit that counts our samples.
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

namespace dedloc::seat {

/// The contributions of one key to one run, on disk as text: a head line that names both, then one
/// line "step samples" for each commit. A last line without a line end was cut by a crash and is
/// dropped.
class ReceiptJournal {
  public:
    /// Reads the file at `path`, or creates it. Errors: IoError; InputError when the file belongs
    /// to another run or key or has a malformed line.
    ReceiptJournal(std::filesystem::path path, const RunId& run, const PeerKey& peer);
    ReceiptJournal(const ReceiptJournal&) = delete;
    ReceiptJournal& operator=(const ReceiptJournal&) = delete;

    /// After: the line is on disk. A later line of the same step replaces an earlier one: the swarm
    /// has gone back and repeated the step. Errors: IoError, such as a full disk; the line is kept,
    /// and the next append() that succeeds writes it too.
    void append(StepIndex step, Samples samples);
    /// After: the lines of `step` and later steps are deleted on disk, the others remain. Errors:
    /// IoError; they are deleted on disk by the next append() that succeeds.
    void rewind(StepIndex step);
    /// All lines, ascending by step.
    std::vector<formats::ReceiptLine> lines() const;
    /// The sum over all lines.
    Samples samples() const;

  private:
    void read();
    void rewrite();

    const std::filesystem::path path_;
    const std::string head_;
    std::map<StepIndex, Samples> lines_;
    std::optional<platform::DurableFile> file_;
    bool is_on_disk_ = true;  ///< the file has what lines_ has
};

}  // namespace dedloc::seat
