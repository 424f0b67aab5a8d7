// What a seat keeps in its slot so that a restart, even after kill -9, loses nothing that matters:
// its key, and one line for each commit it took part in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"
#include "peer/wire/receipt.hpp"

namespace dedloc {

/// The whole file. Errors: IoError, also when it has more than `limit` bytes.
Buffer read_file(const std::filesystem::path& path, std::size_t limit);

/// Temporary file beside it, fsync, rename: `path` holds all of `bytes` or what it held before.
/// Errors: IoError.
void replace_file(const std::filesystem::path& path, std::span<const std::byte> bytes,
                  bool is_secret = false);

/// The key in `path`; made there, readable by its owner only, when there is none.
/// Errors: IoError; InputError when the file holds something else.
KeyPair key_in(const std::filesystem::path& path);

/// The contributions of one key to one run, on disk as text: a head line that names both, then
/// "step samples" a line. A last line without its end was cut by a crash and is dropped.
class ReceiptJournal {
  public:
    /// Errors: IoError; InputError when the file is about another run or key.
    ReceiptJournal(std::filesystem::path path, const RunId& run, const PeerKey& peer);
    ~ReceiptJournal();
    ReceiptJournal(const ReceiptJournal&) = delete;
    ReceiptJournal& operator=(const ReceiptJournal&) = delete;

    /// After: the line is on disk. A step that is there already is replaced: the swarm has gone
    /// back and done it again. Errors: IoError.
    void append(StepIndex step, Samples samples);
    /// After: the lines of `step` and later are gone from the disk, the others are there. Errors:
    /// IoError.
    void rewind(StepIndex step);
    /// Ascending by step.
    std::vector<wire::ReceiptLine> lines() const;
    Samples samples() const;

  private:
    void read();
    void open();

    const std::filesystem::path path_;
    const std::string head_;
    std::map<StepIndex, Samples> lines_;
    int descriptor_ = -1;
};

}  // namespace dedloc
