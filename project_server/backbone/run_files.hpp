// The files of a run that other processes write and this program only reads, and the layout of a
// state's bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "peer/formats/run_file.hpp"

namespace dedloc::backbone {

/// The folder of a run (PROJECT/runs/NAME) or of a voter on another machine.
struct RunFiles {
    std::filesystem::path folder;  ///< absolute
    formats::RunFile run;          ///< run.json, and the sources that were added in mid-run
    RunId id;                      ///< the run's id

    /// The run's files.
    std::filesystem::path ledger() const { return folder / "ledger"; }
    std::filesystem::path checkpoints() const { return folder / "checkpoints"; }
    /// Statistics of batch norms for measured states; absent in a run without batch norms.
    std::filesystem::path norms() const { return folder / "norms"; }
    std::filesystem::path pause() const { return folder / "pause"; }
    std::filesystem::path mixture() const { return folder / "mixture"; }
    std::filesystem::path tokenizer() const { return folder / "tokenizer.model"; }
    /// What the tokenizer does besides SentencePiece; absent if nothing. It is not in run.json,
    /// because an app refuses a run file with a field that it does not know.
    std::filesystem::path tokenizer_rules() const { return folder / "tokenizer.json"; }
};

/// A folder with a run.json. Errors: InputError: there is none, or an unusable one.
RunFiles read_run_files(const std::filesystem::path& folder);

/// Limit of a tokenizer's file.
inline constexpr std::size_t kMaxTokenizerBytes = std::size_t{64} << 20;

/// A tensor's bytes in the state.
struct ByteRange {
    std::uint64_t begin = 0;  ///< first byte
    std::uint64_t end = 0;    ///< the byte after the last one
};
/// The ranges of the run's tensors, ascending, in the order of the run file.
std::vector<ByteRange> parameter_ranges(const formats::RunFile& run);

}  // namespace dedloc::backbone
