// Tokens that are found in a text as such, before the model divides what is between them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "project_server/huggingface/tokenizer_spec.hpp"

namespace dedloc::tokenizer {

/// A part of a text: a token, or what lies between tokens.
struct TextPart {
    std::string_view text;                 ///< its bytes
    std::optional<std::uint16_t> token{};  ///< the token's id; absent: text between tokens
};

/// Finds tokens: the leftmost first, of several at one place the longest. Thread: any.
class TokenFinder final {
  public:
    /// Tokens with empty contents are ignored.
    explicit TokenFinder(std::vector<huggingface::AddedToken> tokens);

    /// Divides a text, which must outlive the result.
    std::vector<TextPart> split(std::string_view text) const;

  private:
    const huggingface::AddedToken* find(std::string_view text, std::size_t at) const;

    std::vector<huggingface::AddedToken> tokens_;  ///< longest first
    /// Indices of the tokens that begin with each byte, longest first.
    std::array<std::vector<std::size_t>, 256> by_first_byte_;
};

}  // namespace dedloc::tokenizer
