// encode() cuts the raw added tokens out of the text, normalises each part between them, and cuts
// the other added tokens, which the constructor has normalised as well, out of the result. The
// parts that are left are divided, and the model encodes each part by itself. `is_first` goes with
// each of them to the divider, because some steps put a prefix before the begin of the whole text
// only.
#include "project_server/tokenizer/pipeline.hpp"

#include <string>
#include <utility>

#include "peer/base/check.hpp"

namespace dedloc::tokenizer {

using namespace huggingface;

namespace {

std::vector<AddedToken> tokens_of(const TokenizerSpec& spec, const Normaliser& normaliser,
                                  bool is_normalised) {
    std::vector<AddedToken> tokens;
    for (AddedToken token : spec.added) {
        DEDLOC_CHECK(token.id < spec.pieces.size(), "an added token is a piece", token.id);
        if (token.is_normalised != is_normalised) continue;
        if (is_normalised) token.content = normaliser.apply(token.content);
        tokens.push_back(std::move(token));
    }
    return tokens;
}

}  // namespace

Pipeline::Pipeline(const TokenizerSpec& spec)
    : normaliser_(spec.normaliser),
      raw_tokens_(tokens_of(spec, normaliser_, false)),
      normalised_tokens_(tokens_of(spec, normaliser_, true)),
      divider_(spec.divisions),
      model_(spec.pieces, spec.unknown) {}

void Pipeline::encode_between(std::string_view text, bool is_first,
                              std::vector<std::uint16_t>& ids) const {
    const DividedText divided = divider_.apply(std::string{text}, is_first);
    for (const auto& part : divided.parts) {
        model_.encode(std::string_view{divided.text}.substr(part.begin, part.end - part.begin),
                      ids);
    }
}

std::vector<std::uint16_t> Pipeline::encode(std::string_view text) const {
    std::vector<std::uint16_t> ids;
    bool is_first = true;
    for (const TextPart& part : raw_tokens_.split(text)) {
        if (part.token) {
            ids.push_back(*part.token);
        } else {
            const std::string normalised = normaliser_.apply(part.text);
            for (const TextPart& between : normalised_tokens_.split(normalised)) {
                if (between.token) {
                    ids.push_back(*between.token);
                } else {
                    encode_between(between.text, is_first, ids);
                }
                is_first = false;
            }
        }
        is_first = false;
    }
    return ids;
}

}  // namespace dedloc::tokenizer
