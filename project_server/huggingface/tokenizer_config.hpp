// tokenizer_config.json, read: what it asks of a tokenizer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "project_server/huggingface/tokenizer_spec.hpp"

namespace dedloc::huggingface {

/// Its fields, as far as they can change ids.
struct TokenizerConfig {
    std::string tokenizer_class;       ///< "AlbertTokenizer", …; empty: it does not say
    std::optional<bool> lower_case;    ///< do_lower_case; nothing: the class's default
    std::optional<bool> keep_accents;  ///< likewise
    std::optional<bool> adds_prefix;   ///< add_prefix_space, likewise
    /// Contents of the special tokens by field: "cls_token", "mask_token", …
    std::map<std::string, AddedToken> special_tokens;
    std::vector<AddedToken> added;    ///< "added_tokens_decoder"
    bool lists_added = false;         ///< has it, so files of older versions do not count
    std::vector<AddedToken> further;  ///< "additional_special_tokens", whose ids it does not say
};

/// Reads an untrusted file. Errors: InputError in one sentence that names the file and what it asks
/// for and this program does not implement.
TokenizerConfig parse_tokenizer_config(const std::string& document, std::string_view json);

/// Reads special_tokens_map.json, untrusted, into a configuration: older versions describe the
/// special tokens there. Errors: InputError.
void parse_special_tokens_map(const std::string& document, std::string_view json,
                              TokenizerConfig& config);

/// Reads added_tokens.json of older versions, untrusted: ids by token. Errors: InputError.
std::map<std::string, std::uint64_t> parse_added_tokens(const std::string& document,
                                                        std::string_view json);

}  // namespace dedloc::huggingface
