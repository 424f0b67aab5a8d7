#include "project_server/runs/masked_lines.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "peer/base/error.hpp"
#include "peer/base/utf8.hpp"
#include "peer/formats/task.hpp"
#include "peer/platform/files.hpp"
#include "project_server/runs/run_tokenizer.hpp"
#include "project_server/tokenizer/pipeline.hpp"

namespace dedloc::runs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMask = "[MASK]";

MaskedLine parse_line(std::string_view line) {
    if (line.size() > kMaxMaskedLineBytes) {
        throw InputError(fmt::format("a line has at most {} bytes", kMaxMaskedLineBytes));
    }
    const bool is_printable = std::ranges::all_of(line, [](char c) {
        return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
    });
    if (!is_utf8(line) || !is_printable) throw InputError("the text is not plain UTF-8");
    const std::size_t tab = line.find('\t');
    MaskedLine read{.sentence = std::string{line.substr(0, tab)}, .wanted = {}};
    if (tab != std::string_view::npos) read.wanted = line.substr(tab + 1);
    if (read.wanted.find('\t') != std::string::npos) {
        throw InputError("a line has a sentence, and perhaps a tab and the right word");
    }
    const std::size_t mask = read.sentence.find(kMask);
    if (mask == std::string::npos || read.sentence.find(kMask, mask + 1) != std::string::npos) {
        throw InputError("a sentence has [MASK] once, for the word that the model shall guess");
    }
    return read;
}

}  // namespace

std::vector<MaskedLine> parse_masked_lines(const std::string& document, std::string_view text) {
    std::vector<MaskedLine> lines;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty()) continue;
        try {
            if (lines.size() == kMaxMaskedLines) {
                throw InputError(fmt::format("there are more than {} sentences", kMaxMaskedLines));
            }
            lines.push_back(parse_line(line));
        } catch (const InputError& error) {
            throw InputError(fmt::format("{}:{}: {}", document, number, error.what()));
        }
    }
    if (lines.empty()) throw InputError(fmt::format("{} has no sentence", document));
    return lines;
}

std::size_t set_masked_lines(const fs::path& folder, const formats::RunFile& run,
                             const fs::path& file) {
    if (!formats::holds_text(run)) {
        throw InputError(
            fmt::format("run {} trains on no text: it answers no sentences", run.name));
    }
    const fs::path to = folder / kMaskedLinesFile;
    if (file.empty()) {
        fs::remove(to);
        return 0;
    }
    const std::string text = platform::read_text(file, kMaxMaskedFileBytes);
    const auto lines = parse_masked_lines(file.string(), text);
    const tokenizer::Pipeline pipeline{run_tokenizer(folder, run.special_tokens)};
    for (const MaskedLine& line : lines) {
        const auto tokens = pipeline.encode(line.sentence);
        const auto mask = std::ranges::find(tokens, run.special_tokens.mask) - tokens.begin();
        if (static_cast<std::size_t>(mask) == tokens.size()) {
            throw InputError(
                fmt::format("{}: the run's tokenizer has no token for [MASK]", file.string()));
        }
        if (static_cast<std::uint64_t>(mask) + 2 >= run.sequence_length) {
            throw InputError(fmt::format("{}: [MASK] is not among the first {} tokens of '{}'",
                                         file.string(), run.sequence_length - 2, line.sentence));
        }
    }
    platform::replace_file(to, text);
    return lines.size();
}

std::size_t count_masked_lines(const fs::path& folder) {
    const fs::path file = folder / kMaskedLinesFile;
    if (!fs::exists(file)) return 0;
    return parse_masked_lines(file.string(), platform::read_text(file, kMaxMaskedFileBytes)).size();
}

}  // namespace dedloc::runs
