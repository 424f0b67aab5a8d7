// The ids of `transformers`, as make_fixtures.py has written them down.
#include <rapidjson/document.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <vector>

#include "project_server/huggingface/tokenizer_files.hpp"
#include "project_server/huggingface/tokenizer_reader.hpp"
#include "project_server/tokenizer/model_tokenizer.hpp"
#include "project_server/tokenizer/pipeline.hpp"
#include "tests/project_server/tokenizer/tokenizer_folder.hpp"

namespace dedloc::tokenizer {
namespace {

using Ids = std::vector<std::uint16_t>;

/// Compares the ids of all texts with those under `column`.
void check_ids(const huggingface::TokenizerSpec& spec, const char* column) {
    const Pipeline pipeline{spec};
    std::ifstream cases{TokenizerFolder::fixture("cases.jsonl")};
    int count = 0;
    for (std::string line; std::getline(cases, line); ++count) {
        rapidjson::Document row;
        row.Parse(line.c_str());
        REQUIRE(row.IsObject());
        Ids expected;
        for (const auto& id : row[column].GetArray()) {
            expected.push_back(static_cast<std::uint16_t>(id.GetUint()));
        }
        CAPTURE(column, line);
        CHECK(pipeline.encode({row["text"].GetString(), row["text"].GetStringLength()}) ==
              expected);
    }
    CHECK(count > 200);
}

TEST_CASE("a spiece.model with its configuration gives the ids of transformers", "[server]") {
    const TokenizerFolder folder;
    const auto check = [&](const char* fields, const char* column) {
        folder.configure(fields);
        const auto found = read_model_tokenizer(folder.path);
        REQUIRE(found.spec);
        check_ids(*found.spec, column);
        CHECK(found.special == formats::SpecialTokens{});
    };
    check("", "usual");
    check(R"("do_lower_case":true,"keep_accents":false,"remove_space":true)", "usual");
    check(R"("do_lower_case":false)", "cased");
    check(R"("keep_accents":true)", "accents");
    check(R"("do_lower_case":false,"keep_accents":true)", "cased_accents");
}

TEST_CASE("a tokenizer.json gives the ids of transformers and is written as it was read",
          "[server]") {
    const auto check = [](const char* file, const char* column) {
        const auto spec =
            huggingface::parse_tokenizer(file, platform::read_text(TokenizerFolder::fixture(file)));
        check_ids(spec, column);
        const auto json = huggingface::write_tokenizer(spec, formats::SpecialTokens{});
        CHECK(huggingface::parse_tokenizer("again", json) == spec);
    };
    check("tokenizer.json", "usual");
    check("saved_by_5.json", "saved_by_5");
}

TEST_CASE("the conversion of a spiece.model is the tokenizer.json that transformers makes of it",
          "[server]") {
    const TokenizerFolder folder;
    folder.configure("");
    const auto spec = read_model_tokenizer(folder.path).spec;
    REQUIRE(spec);
    CHECK(*spec == huggingface::parse_tokenizer(
                       "x", platform::read_text(TokenizerFolder::fixture("tokenizer.json"))));
}

TEST_CASE("of equal divisions the first one wins, and unknown characters are one token",
          "[server]") {
    huggingface::TokenizerSpec spec;
    spec.pieces = {{"<unk>", 0}, {"a", -2}, {"ab", -3}, {"b", -1}, {"\u2581", -1}};
    spec.unknown = 0;
    spec.divisions.emplace_back(
        huggingface::Metaspace{huggingface::Metaspace::Prefix::kNever, true});
    CHECK(Pipeline{spec}.encode("ab") == Ids{2});
    CHECK(Pipeline{spec}.encode("xyza\u00e9\u6f22") == Ids{0, 1, 0});
    CHECK(Pipeline{spec}.encode("").empty());
    CHECK(Pipeline{spec}.encode(" a") == Ids{4, 1});
}

TEST_CASE("added tokens are the leftmost and longest, and respect words and blanks", "[server]") {
    using huggingface::AddedToken;
    const TokenFinder finder{
        {AddedToken{.content = "ab", .id = 1}, AddedToken{.content = "abc", .id = 2},
         AddedToken{.content = "cat", .id = 3, .is_single_word = true},
         AddedToken{
             .content = "[M]", .id = 4, .takes_space_before = true, .takes_space_after = true}}};
    const auto split = [&](const std::string& text) {
        std::vector<std::string> parts;
        for (const auto& part : finder.split(text)) {
            parts.push_back(part.token ? '#' + std::to_string(*part.token)
                                       : std::string{part.text});
        }
        return parts;
    };
    using Parts = std::vector<std::string>;
    CHECK(split("xabcab") == Parts{"x", "#2", "#1"});
    CHECK(split("a cat concat, cats cat.") == Parts{"a ", "#3", " concat, cats ", "#3", "."});
    CHECK(split("a  [M]\u00a0 [M]b") == Parts{"a", "#4", "#4", "b"});
    CHECK(split("").empty());
}

}  // namespace
}  // namespace dedloc::tokenizer
