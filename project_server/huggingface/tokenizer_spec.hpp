// What defines a tokenizer of Hugging Face's library `tokenizers`: the contents of tokenizer.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace dedloc::huggingface {

/// Longest regular expression that is accepted.
inline constexpr std::size_t kMaxRegexBytes = 1024;

// Steps of a normaliser, each as the one of this name of the library.

/// Replaces every occurrence of a text.
struct Replace {
    std::string pattern;  ///< not empty
    std::string content;  ///< what replaces it
    bool operator==(const Replace&) const = default;
};
/// Replaces every run of two or more blanks: the pattern ` {2,}`.
struct ReplaceBlanks {
    std::string content;  ///< what replaces it
    bool operator==(const ReplaceBlanks&) const = default;
};
/// Replaces every match of a regular expression of Oniguruma, as it is written.
struct ReplaceRegex {
    std::string pattern;  ///< at most kMaxRegexBytes
    std::string content;  ///< what replaces a match; groups have no meaning in it
    bool operator==(const ReplaceRegex&) const = default;
};
/// Removes control characters and writes a blank for white space and characters without width, as
/// SentencePiece's rule "nmt".
struct Nmt {
    bool operator==(const Nmt&) const = default;
};
/// Writes a text before every text that is not empty.
struct Prepend {
    std::string prefix;  ///< the text to write
    bool operator==(const Prepend&) const = default;
};
/// One of Unicode's normalisation forms.
struct UnicodeForm {
    /// Their names.
    enum class Form : std::uint8_t { kNfc, kNfd, kNfkc, kNfkd };
    Form form = Form::kNfkd;  ///< the one that is applied
    bool operator==(const UnicodeForm&) const = default;
};
/// Removes all combining marks.
struct StripAccents {
    bool operator==(const StripAccents&) const = default;
};
/// Lower case, of each character by itself.
struct Lowercase {
    bool operator==(const Lowercase&) const = default;
};
/// SentencePiece's own table.
struct Precompiled {
    std::string charsmap;  ///< the table's bytes
    bool operator==(const Precompiled&) const = default;
};
/// Removes white space at the ends.
struct Strip {
    bool left = true;   ///< at the beginning
    bool right = true;  ///< at the end
    bool operator==(const Strip&) const = default;
};
/// One step.
using NormaliserStep = std::variant<Replace, ReplaceBlanks, ReplaceRegex, Nmt, Prepend, UnicodeForm,
                                    StripAccents, Lowercase, Precompiled, Strip>;

// Steps between the normaliser and the model ("pre_tokenizer").

/// Divides at white space, which is removed.
struct WhitespaceSplit {
    bool operator==(const WhitespaceSplit&) const = default;
};
/// Writes ▁ for every blank.
struct Metaspace {
    /// Which parts of a text get a ▁ in front if they do not begin with one: all, the one at the
    /// beginning of the text, or none.
    enum class Prefix : std::uint8_t { kAlways, kFirst, kNever };
    Prefix prefix = Prefix::kAlways;  ///< which parts get one
    bool splits = true;               ///< every ▁ begins a new part
    bool operator==(const Metaspace&) const = default;
};
/// What a division does with the matches of its pattern.
enum class Matched : std::uint8_t {
    kRemoved,             ///< they divide, and are in no part
    kIsolated,            ///< each is a part
    kContiguous,          ///< each run of adjacent ones is a part
    kMergedWithPrevious,  ///< each ends the part before it
    kMergedWithNext       ///< each begins the part after it
};
/// Divides at numbers: characters of category N.
struct Digits {
    bool individual = false;  ///< each is a part; otherwise each run of them
    bool operator==(const Digits&) const = default;
};
/// Divides at punctuation: that of ASCII and characters of category P.
struct Punctuation {
    Matched matched = Matched::kIsolated;  ///< where it goes
    bool operator==(const Punctuation&) const = default;
};
/// Parts are runs of characters of words and runs of others but white space, which is removed.
struct Whitespace {
    bool operator==(const Whitespace&) const = default;
};
/// Divides at matches of a pattern.
struct Split {
    std::string pattern;                  ///< not empty, at most kMaxRegexBytes if it is a regex
    bool is_regex = false;                ///< a regular expression of Oniguruma, not a plain text
    Matched matched = Matched::kRemoved;  ///< where matches go
    bool inverts = false;                 ///< what is between matches counts as the match
    bool operator==(const Split&) const = default;
};
/// Parts of so many characters.
struct FixedLength {
    std::uint64_t length = 1;  ///< at least 1
    bool operator==(const FixedLength&) const = default;
};
/// One step.
using Division =
    std::variant<WhitespaceSplit, Metaspace, Digits, Punctuation, Whitespace, Split, FixedLength>;

/// A token that is found in a text as such, before the model divides what is between them.
struct AddedToken {
    std::string content;              ///< the text to look for
    std::uint16_t id = 0;             ///< its id
    bool is_single_word = false;      ///< only where no character of a word is beside it
    bool takes_space_before = false;  ///< "lstrip": white space before it belongs to it
    bool takes_space_after = false;   ///< "rstrip"
    bool is_normalised = false;       ///< is looked for in the normalised text, not in the raw one
    bool is_special = false;          ///< it has a meaning of its own
    bool operator==(const AddedToken&) const = default;
};

/// One piece of the vocabulary; its index is the token's id.
struct ScoredPiece {
    std::string text;  ///< UTF-8, with ▁ for a blank
    double score = 0;  ///< log probability
    bool operator==(const ScoredPiece&) const = default;
};

/// The whole, with a Unigram model.
struct TokenizerSpec {
    std::vector<AddedToken> added;           ///< in the order of their ids
    std::vector<NormaliserStep> normaliser;  ///< steps in this order
    std::vector<Division> divisions;         ///< steps in this order
    std::vector<ScoredPiece> pieces;         ///< the vocabulary: indices are ids, at most 65,536
    std::uint16_t unknown = 1;               ///< id of what is in no piece
    bool operator==(const TokenizerSpec&) const = default;
};

/// Ids of the tokens around a text: `[CLS] A [SEP]`.
struct Around {
    std::uint16_t before = 0;  ///< the one before it
    std::uint16_t after = 0;   ///< the one behind it
    bool operator==(const Around&) const = default;
};

/// Whether the normaliser has a step of this kind.
template <class Step>
bool has_step(const TokenizerSpec& spec) {
    for (const NormaliserStep& step : spec.normaliser) {
        if (std::holds_alternative<Step>(step)) return true;
    }
    return false;
}

}  // namespace dedloc::huggingface
