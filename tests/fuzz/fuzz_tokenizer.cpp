// A tokenizer.json of a stranger, and after a byte 0xff, which UTF-8 does not have, a text.
#include <span>
#include <string>
#include <string_view>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/base/utf8.hpp"
#include "project_server/huggingface/tokenizer_files.hpp"
#include "project_server/huggingface/tokenizer_reader.hpp"
#include "project_server/tokenizer/pipeline.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace dedloc::fuzz {
namespace {

void tokenise_as_stranger(std::string_view json, std::string_view text) {
    const auto file = huggingface::read_tokenizer_file("x", json);
    const auto& spec = file.spec;
    if (file.around) {
        DEDLOC_CHECK(file.around->before < spec.pieces.size(), "the token before is a piece");
        DEDLOC_CHECK(file.around->after < spec.pieces.size(), "the token behind is a piece");
    }
    const tokenizer::Pipeline pipeline{spec};
    const auto ids = pipeline.encode(text);
    for (const auto id : ids) DEDLOC_CHECK(id < spec.pieces.size(), "an id is a piece's", id);
    formats::SpecialTokens special;
    special.cls = special.sep = spec.unknown;
    const auto again =
        huggingface::parse_tokenizer("x", huggingface::write_tokenizer(spec, special));
    DEDLOC_CHECK(again == spec, "a tokenizer is read as it was written");
}

}  // namespace

void fuzz_tokenizer(std::span<const std::byte> input) {
    const std::string_view bytes{reinterpret_cast<const char*>(input.data()), input.size()};
    const auto at = bytes.find('\xff');
    const auto text = at == std::string_view::npos ? std::string_view{} : bytes.substr(at + 1);
    if (!is_utf8(text)) return;
    try {
        tokenise_as_stranger(bytes.substr(0, at), text);
    } catch (const InputError&) {
    }
}

}  // namespace dedloc::fuzz
