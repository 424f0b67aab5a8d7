// Files of a Hugging Face folder. The first byte chooses which one.
#include <span>
#include <string_view>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/base/utf8.hpp"
#include "project_server/huggingface/albert_config.hpp"
#include "project_server/huggingface/pickle.hpp"
#include "project_server/huggingface/safetensors.hpp"
#include "project_server/huggingface/tensor_file.hpp"
#include "project_server/huggingface/tokenizer_config.hpp"
#include "project_server/huggingface/tokenizer_files.hpp"
#include "project_server/huggingface/tokenizer_reader.hpp"
#include "project_server/tokenizer/pipeline.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace dedloc::fuzz {
namespace {

constexpr std::uint64_t kDataBytes = 64;

void read_header(std::string_view json) {
    const auto header = huggingface::parse_safetensors_header("x", json, kDataBytes);
    std::uint64_t end = 0;
    for (const auto& tensor : header.tensors) {
        DEDLOC_CHECK(tensor.begin == end, "tensors have neither gaps nor overlaps");
        DEDLOC_CHECK(tensor.count() <= kDataBytes, "an element has a byte", tensor.count());
        end = tensor.end;
    }
    DEDLOC_CHECK(end == kDataBytes, "the tensors cover the data", end);
}

void read_config(std::string_view json) {
    const auto model = huggingface::read_albert_config("x", json);
    DEDLOC_CHECK(model.hidden % model.heads == 0, "heads divide the width");
    formats::RunFile run;
    run.model = model;
    DEDLOC_CHECK(
        huggingface::read_albert_config("x", huggingface::write_albert_config(run)) == model,
        "a configuration is read as it was written");
}

void read_tokenizer(std::span<const std::byte> bytes) {
    const auto model = huggingface::parse_sentencepiece(bytes);
    DEDLOC_CHECK(!model.pieces.empty(), "a model has pieces");
    (void)huggingface::write_tokenizer(model, formats::RunFile{});
}

void read_pickle(std::span<const std::byte> bytes) {
    const auto pickled = huggingface::parse_pickle("x", bytes);
    DEDLOC_CHECK(pickled.bytes <= bytes.size(), "a pickle lies in its file", pickled.bytes);
    for (const auto& tensor : pickled.tensors) {
        const huggingface::StoredTensor stored{
            .name = tensor.name, .type = tensor.type, .shape = tensor.shape};
        DEDLOC_CHECK(tensor.offset <= tensor.storage_count &&
                         stored.count() <= tensor.storage_count - tensor.offset,
                     "a tensor lies in its storage", tensor.offset);
        DEDLOC_CHECK(huggingface::bytes_of_type(tensor.type) > 0, "the type is known");
    }
}

void read_tokenizer_json(std::string_view json) {
    const auto spec = huggingface::parse_tokenizer("x", json);
    DEDLOC_CHECK(spec.unknown < spec.pieces.size(), "the unknown token is a piece");
    formats::SpecialTokens special;
    special.cls = special.sep = spec.unknown;
    const auto again =
        huggingface::parse_tokenizer("x", huggingface::write_tokenizer(spec, special));
    DEDLOC_CHECK(again == spec, "a tokenizer is read as it was written");
}

void read_tokenizer_config(std::string_view json) {
    auto config = huggingface::parse_tokenizer_config("x", json);
    huggingface::parse_special_tokens_map("x", json, config);
    huggingface::parse_added_tokens("x", json);
}

/// Tokenises a text; after a byte 0xff follows a table of the normaliser.
void tokenise(std::string_view input) {
    const auto at = input.find('\xff');
    const auto text = input.substr(0, at);
    if (!is_utf8(text)) return;
    huggingface::TokenizerSpec spec;
    spec.pieces = {{"<unk>", 0}, {"a", -1}, {"\u2581", -2}, {"\u2581the", -3}, {"9,", -3}};
    spec.unknown = 0;
    spec.added.push_back({.content = "<unk>", .takes_space_before = true});
    using Form = huggingface::UnicodeForm::Form;
    spec.normaliser = {huggingface::Replace{"``", "\""},
                       huggingface::UnicodeForm{Form::kNfkd},
                       huggingface::StripAccents{},
                       huggingface::Lowercase{},
                       huggingface::Strip{},
                       huggingface::ReplaceBlanks{" "}};
    if (at != std::string_view::npos) {
        spec.normaliser.emplace_back(huggingface::Precompiled{std::string{input.substr(at + 1)}});
    }
    spec.divisions.emplace_back(huggingface::Metaspace{});
    const auto ids = tokenizer::Pipeline{spec}.encode(text);
    DEDLOC_CHECK(ids.size() <= 8 * (text.size() + 1), "a character has few tokens", ids.size());
    for (const auto id : ids) DEDLOC_CHECK(id < spec.pieces.size(), "an id is a piece's", id);
}

}  // namespace

void fuzz_model_folder(std::span<const std::byte> input) {
    if (input.empty()) return;
    const auto bytes = input.subspan(1);
    const std::string_view text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    try {
        switch (static_cast<unsigned>(input.front()) % 7) {
            case 0:
                return read_header(text);
            case 1:
                return read_config(text);
            case 3:
                return read_pickle(bytes);
            case 4:
                return read_tokenizer_json(text);
            case 5:
                return read_tokenizer_config(text);
            case 6:
                return tokenise(text);
            default:
                return read_tokenizer(bytes);
        }
    } catch (const InputError&) {
    }
}

}  // namespace dedloc::fuzz
