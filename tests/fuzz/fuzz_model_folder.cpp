// Files of a Hugging Face folder. The first byte chooses which one.
#include <span>
#include <string_view>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "project_server/huggingface/albert_config.hpp"
#include "project_server/huggingface/safetensors.hpp"
#include "project_server/huggingface/tokenizer_files.hpp"
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

}  // namespace

void run(std::span<const std::byte> input) {
    if (input.empty()) return;
    const auto bytes = input.subspan(1);
    const std::string_view text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    try {
        switch (static_cast<unsigned>(input.front()) % 3) {
            case 0:
                return read_header(text);
            case 1:
                return read_config(text);
            default:
                return read_tokenizer(bytes);
        }
    } catch (const InputError&) {
    }
}

}  // namespace dedloc::fuzz
