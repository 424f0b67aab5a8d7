// Reads tokenizer.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "project_server/huggingface/tokenizer_spec.hpp"

namespace dedloc::huggingface {

/// Largest tokenizer.json that is read, in bytes.
inline constexpr std::size_t kMaxTokenizerJsonBytes = std::size_t{64} << 20;

/// A tokenizer.json.
struct TokenizerFile {
    TokenizerSpec spec;            ///< what gives a text's ids
    std::optional<Around> around;  ///< what its post_processor puts around a text, if it has one
};

/// Reads an untrusted tokenizer.json with a Unigram model. Truncation, padding and the decoder do
/// not matter for a text's ids and are ignored; `document` is the file's name for messages.
/// Errors   InputError in one sentence that names what the file asks for and this program does not
///          implement, or what is damaged
TokenizerFile read_tokenizer_file(const std::string& document, std::string_view json);
/// Its `spec` alone. Errors: InputError.
TokenizerSpec parse_tokenizer(const std::string& document, std::string_view json);

}  // namespace dedloc::huggingface
