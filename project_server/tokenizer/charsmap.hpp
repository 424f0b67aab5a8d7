// The table of a SentencePiece normaliser: a double-array trie of byte strings, and the text that
// replaces each of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dedloc::tokenizer {

/// A table as the field `precompiled_charsmap` stores it: the size of the trie (u32,
/// little-endian), its units (u32), then the replacements, each ended by a zero.
class Charsmap final {
  public:
    /// Errors: InputError if the table is cut or does not fit its own size. Any other contents are
    /// safe: a lookup never leaves the table.
    explicit Charsmap(const std::string& table);

    /// The replacement of the shortest entry that `chunk` begins with, for the whole chunk, as the
    /// library `tokenizers` does; nothing if no entry fits.
    std::optional<std::string_view> find(std::string_view chunk) const;

  private:
    std::vector<std::uint32_t> units_;
    std::string replacements_;
};

}  // namespace dedloc::tokenizer
