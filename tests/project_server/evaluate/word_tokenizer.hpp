// A tokenizer for the generated text of tiny_world.hpp: token 7 is the word "word7".
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "peer/formats/run_file.hpp"
#include "peer/platform/files.hpp"
#include "project_server/huggingface/tokenizer_files.hpp"

namespace dedloc::test {

/// As many pieces as the model of the run has.
inline huggingface::TokenizerSpec word_tokenizer(const formats::RunFile& run) {
    huggingface::TokenizerSpec spec;
    spec.divisions = {huggingface::Metaspace{}};
    for (const char* const name : {"<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"}) {
        const auto id = static_cast<std::uint16_t>(spec.pieces.size());
        spec.added.push_back({.content = name,
                              .id = id,
                              .takes_space_before = id == run.special_tokens.mask,
                              .is_special = true});
        spec.pieces.push_back({name, 0});
    }
    for (std::size_t id = spec.pieces.size(); id < formats::albert_of(run).vocabulary; ++id) {
        spec.pieces.push_back({"▁word" + std::to_string(id), -1});
    }
    return spec;
}

/// Writes it into the folder of a run.
inline void write_word_tokenizer(const std::filesystem::path& folder, const formats::RunFile& run) {
    platform::replace_file(folder / "tokenizer.json",
                           huggingface::write_tokenizer(word_tokenizer(run), run.special_tokens));
}

}  // namespace dedloc::test
