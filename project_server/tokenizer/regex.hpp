// Regular expressions of Oniguruma, the library with which `tokenizers` matches them, too.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dedloc::tokenizer {

/// Bytes [begin, end) of a text.
struct Span {
    std::size_t begin = 0;  ///< its first byte
    std::size_t end = 0;    ///< the byte after its last one
    bool operator==(const Span&) const = default;
};

/// A compiled expression. Thread: any, several at a time.
class Regex final {
  public:
    /// Errors: InputError that names the expression: it is none, or longer than kMaxRegexBytes.
    explicit Regex(const std::string& pattern);
    ~Regex();
    Regex(const Regex&) = delete;
    Regex& operator=(const Regex&) = delete;
    Regex(Regex&&) noexcept;
    Regex& operator=(Regex&&) noexcept;

    /// All matches in a text in UTF-8, from left to right, none overlapping, also empty ones, but
    /// none directly behind another match.
    ///
    /// Errors  InputError that names the expression: one search needs more than kRetriesPerByte
    ///         steps back for each byte of the text, or more than kMaxStackEntries memory for them
    std::vector<Span> matches(std::string_view text) const;

  private:
    struct Compiled;
    std::unique_ptr<Compiled> compiled_;
};

/// Steps back that a search may make for each byte of its text, and for a thousand bytes more.
inline constexpr unsigned long kRetriesPerByte = 200;
/// Positions that a search may remember in order to go back to them, about 50 bytes each.
inline constexpr unsigned kMaxStackEntries = 1U << 20;

}  // namespace dedloc::tokenizer
