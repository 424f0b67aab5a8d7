// A model's folder with the fixtures' SentencePiece model and what a test writes beside it.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "peer/platform/files.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::tokenizer {

/// Owns the folder.
struct TokenizerFolder {
    TokenizerFolder() { std::filesystem::copy_file(fixture("spiece.model"), file("spiece.model")); }

    static std::filesystem::path fixture(const std::string& name) {
        return std::filesystem::path{DEDLOC_FIXTURES} / name;
    }
    std::filesystem::path file(const std::string& name) const { return path / name; }
    void write(const std::string& name, const std::string& text) const {
        platform::replace_file(file(name), text);
    }
    /// tokenizer_config.json of AlbertTokenizer with these fields: `"do_lower_case":false`.
    void configure(const std::string& fields) const {
        write("tokenizer_config.json", R"({"tokenizer_class":"AlbertTokenizer")" +
                                           (fields.empty() ? "" : "," + fields) + "}");
    }

    TemporaryDirectory folder;
    std::filesystem::path path = folder.path();
};

}  // namespace dedloc::tokenizer
