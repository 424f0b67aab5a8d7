// Lines are cut at their ends and words at blanks; the reader keeps the peers of the last step
// only, because steps ascend.
#include "peer/formats/contribution_list.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>
#include <utility>

#include "peer/base/bytes.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/source_spec.hpp"

namespace dedloc::formats {
namespace {

/// Takes the first word of the line.
std::string_view take_word(std::string_view& line) {
    const std::size_t begin = std::min(line.find_first_not_of(" \t\r"), line.size());
    const std::size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
    const std::string_view word = line.substr(begin, end - begin);
    line.remove_prefix(end);
    return word;
}

bool to_number(std::string_view word, std::uint64_t& number) {
    const char* const end = word.data() + word.size();
    const auto [rest, error] = std::from_chars(word.data(), end, number);
    return error == std::errc{} && rest == end;
}

/// "1,3,0": at most kMaxSources weights within their bounds.
bool to_weights(std::string_view word, std::vector<std::uint64_t>& weights) {
    for (;;) {
        const std::size_t end = std::min(word.find(','), word.size());
        std::uint64_t weight = 0;
        if (!to_number(word.substr(0, end), weight) || weight > kMaxSourceWeight) return false;
        if (weights.size() == kMaxSources) return false;
        weights.push_back(weight);
        if (end == word.size()) return true;
        word.remove_prefix(end + 1);
    }
}

/// Reads one line after the other, and remembers the peers of the step.
class ContributionReader {
  public:
    /// The fault of the line; null: it is taken.
    const char* take(std::string_view line) {
        const std::string_view first = take_word(line);
        if (first.empty() || first.front() == '#') return nullptr;
        std::uint64_t step = 0;
        std::uint64_t samples = 0;
        CountedSamples counted{};
        if (!to_number(first, step)) return "has no step";
        if (!from_hex(take_word(line), counted.peer.bytes)) return "has no key of a peer";
        if (!to_number(take_word(line), samples) || samples == 0) return "has no number of samples";
        const std::string_view weights = take_word(line);
        if (!weights.empty() && !to_weights(weights, counted.weights)) {
            return "has weights that are none";
        }
        if (!take_word(line).empty()) return "has more than step, peer, samples and weights";
        counted.step = StepIndex{step};
        counted.samples = Samples{samples};
        if (!list_.empty() && counted.step < list_.back().step) return "goes back to an older step";
        if (list_.empty() || counted.step != list_.back().step) peers_.clear();
        if (!peers_.insert(counted.peer).second) return "names a peer twice in a step";
        list_.push_back(std::move(counted));
        return nullptr;
    }
    std::vector<CountedSamples> finish() && { return std::move(list_); }

  private:
    std::vector<CountedSamples> list_;
    std::set<PeerKey> peers_;  // those of the last step
};

}  // namespace

std::string contribution_line(const CountedSamples& counted) {
    const std::string_view space = counted.weights.empty() ? "" : " ";
    return fmt::format("{} {} {}{}{}\n", counted.step.value(), counted.peer.hex(),
                       counted.samples.value(), space, fmt::join(counted.weights, ","));
}

std::vector<CountedSamples> parse_contributions(std::string_view text, const std::string& name) {
    ContributionReader reader;
    for (std::uint64_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        if (const char* const fault = reader.take(text.substr(0, end))) {
            throw InputError(fmt::format("line {} of {} {}", number, name, fault));
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    std::vector<CountedSamples> list = std::move(reader).finish();
    if (list.empty()) throw InputError(fmt::format("{} has no contribution", name));
    return list;
}

}  // namespace dedloc::formats
