// The steps between the normaliser and the model, "pre_tokenizer": they divide a text into parts,
// and no piece of the model reaches beyond one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "project_server/huggingface/tokenizer_spec.hpp"
#include "project_server/tokenizer/regex.hpp"

namespace dedloc::tokenizer {

/// A text that is divided.
struct DividedText {
    /// One part: bytes [begin, end) of the text.
    struct Part {
        std::size_t begin = 0;  ///< its first byte
        std::size_t end = 0;    ///< the byte after its last one
        bool is_first = false;  ///< it begins where the whole text of the user begins
    };
    std::string text;         ///< what the parts are parts of
    std::vector<Part> parts;  ///< in order, none of them empty
};

/// Applies all steps, one after another. Thread: any, several at a time.
class Divider final {
  public:
    /// Errors: InputError: a regular expression that is none.
    explicit Divider(std::vector<huggingface::Division> steps);

    /// Divides a text in UTF-8; `is_first`: it begins where the whole text begins.
    /// Errors: InputError: a regular expression needs too long for it (Regex::matches), or the
    /// blanks that steps add make it larger than max_normalised().
    DividedText apply(std::string text, bool is_first) const;

  private:
    /// A step, with what it needs.
    struct Step {
        huggingface::Division rule;
        std::optional<Regex> regex;  ///< the one of Split
    };
    std::vector<Step> steps_;
};

}  // namespace dedloc::tokenizer
