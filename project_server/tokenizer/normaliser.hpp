// The normaliser of a tokenizer: a list of steps.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "project_server/huggingface/tokenizer_spec.hpp"
#include "project_server/tokenizer/charsmap.hpp"
#include "project_server/tokenizer/regex.hpp"

namespace dedloc::tokenizer {

/// Largest text, in bytes, that steps may make of one of `bytes`: a stranger's steps could double
/// it again and again. No character becomes more than 11 times as long in NFKD.
constexpr std::size_t max_normalised(std::size_t bytes) {
    return 100 * bytes + 1'000;
}

/// Applies steps. Thread: any, several at a time.
class Normaliser final {
  public:
    /// Errors: InputError: a table that is damaged, or a regular expression that is none.
    explicit Normaliser(std::vector<huggingface::NormaliserStep> steps);
    ~Normaliser();
    Normaliser(const Normaliser&) = delete;
    Normaliser& operator=(const Normaliser&) = delete;

    /// The normalised text. Requires UTF-8. Errors: InputError: a text for which a regular
    /// expression needs too long (Regex::matches), or that becomes larger than max_normalised().
    std::string apply(std::string_view text) const;

  private:
    struct Characters;
    /// A step, with what it needs.
    struct Step {
        huggingface::NormaliserStep rule;
        std::optional<Charsmap> table;  ///< the one of Precompiled
        std::optional<Regex> regex;     ///< the one of ReplaceRegex
    };
    std::vector<Step> steps_;
    std::unique_ptr<const Characters> known_;  ///< those that UnicodeForm changes
};

}  // namespace dedloc::tokenizer
