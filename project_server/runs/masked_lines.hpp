// The file with masked sentences that the administrator chooses for a run.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "peer/formats/run_file.hpp"

namespace dedloc::runs {

/// Its name in the folder of a run.
inline constexpr const char* kMaskedLinesFile = "masked_sentences.txt";
inline constexpr std::size_t kMaxMaskedLines = 8;           ///< sentences of a file
inline constexpr std::size_t kMaxMaskedLineBytes = 1'000;   ///< bytes of a line
inline constexpr std::size_t kMaxMaskedFileBytes = 65'536;  ///< bytes of a file

/// One sentence.
struct MaskedLine {
    std::string sentence;  ///< has [MASK] once
    std::string wanted;    ///< the right word, behind a tab; empty: not given
    bool operator==(const MaskedLine&) const = default;
};

/// Reads the sentences, one in a line, in UTF-8; empty lines are ignored.
/// Errors: InputError in one sentence: "FILE:LINE: …".
std::vector<MaskedLine> parse_masked_lines(const std::string& document, std::string_view text);

/// Checks the file with the tokenizer of the run in this folder, and makes it the run's. An empty
/// path removes the run's file, so that sentences are drawn from held-out text. Holds from the next
/// measurement on. Returns the number of sentences.
/// Errors: InputError in one sentence: a run without text, a file that cannot be used; IoError.
std::size_t set_masked_lines(const std::filesystem::path& folder, const formats::RunFile& run,
                             const std::filesystem::path& file);

/// The number of sentences that the administrator has chosen for the run in this folder; 0: they
/// are drawn. Errors: InputError, IoError.
std::size_t count_masked_lines(const std::filesystem::path& folder);

}  // namespace dedloc::runs
