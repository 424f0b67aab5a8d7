// Every rule that is implemented, compared with the library `tokenizers` (make_rules.py).
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/base/error.hpp"
#include "project_server/huggingface/tokenizer_files.hpp"
#include "project_server/huggingface/tokenizer_reader.hpp"
#include "project_server/tokenizer/characters.hpp"
#include "project_server/tokenizer/model_tokenizer.hpp"
#include "project_server/tokenizer/pipeline.hpp"
#include "tests/project_server/tokenizer/tokenizer_folder.hpp"

namespace dedloc::tokenizer {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<std::uint16_t>;

std::string text_of(const rapidjson::Value& value) {
    return {value.GetString(), value.GetStringLength()};
}

Ids ids_of(const rapidjson::Value& list) {
    Ids ids;
    for (const auto& id : list.GetArray()) ids.push_back(static_cast<std::uint16_t>(id.GetUint()));
    return ids;
}

std::string json_of(const rapidjson::Value& value) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
    value.Accept(writer);
    return {buffer.GetString(), buffer.GetSize()};
}

/// The lines of a file of JSON.
std::vector<rapidjson::Document> read_lines(const fs::path& file) {
    std::vector<rapidjson::Document> rows;
    std::ifstream in{file};
    for (std::string line; std::getline(in, line);) {
        rows.emplace_back().Parse(line.c_str());
        REQUIRE_FALSE(rows.back().HasParseError());
    }
    return rows;
}

TEST_CASE("all rules give the ids of the library tokenizers", "[server]") {
    auto rows = read_lines(TokenizerFolder::fixture("rules.jsonl"));
    REQUIRE(rows.size() > 40);
    for (std::size_t i = 1; i < rows.size(); ++i) {
        auto& row = rows[i];
        const std::string name = text_of(row["name"]);
        rapidjson::Value vocabulary;
        vocabulary.CopyFrom(rows[0]["vocab"], row.GetAllocator());
        row["tokenizer"]["model"].AddMember("vocab", vocabulary, row.GetAllocator());
        const auto file = huggingface::read_tokenizer_file(name, json_of(row["tokenizer"]));
        CHECK(file.around == huggingface::Around{.before = 2, .after = 3});
        const Pipeline pipeline{file.spec};
        for (rapidjson::SizeType t = 0; t < rows[0]["texts"].Size(); ++t) {
            const std::string text = text_of(rows[0]["texts"][t]);
            if (row["ids"][t].IsNull()) continue;
            CAPTURE(name, text);
            CHECK(pipeline.encode(text) == ids_of(row["ids"][t]));
        }
        const auto json = huggingface::write_tokenizer(file.spec, formats::SpecialTokens{});
        CHECK(huggingface::parse_tokenizer("again", json) == file.spec);
    }
}

TEST_CASE("classes of characters are those of the library tokenizers", "[server]") {
    const auto rows = read_lines(TokenizerFolder::fixture("classes.json"));
    const auto check = [&](const char* name, bool (*is_one)(char32_t)) {
        std::vector<bool> expected(0x110000);
        for (const auto& range : rows.at(0)[name].GetArray()) {
            for (unsigned c = range[0].GetUint(); c <= range[1].GetUint(); ++c) expected[c] = true;
        }
        for (char32_t c = 0; c < 0x110000; ++c) {
            if ((c >= 0xd800 && c < 0xe000) || is_one(c) == expected[c]) continue;
            FAIL_CHECK(name << ": " << std::hex << static_cast<unsigned>(c));
        }
    };
    check("number", is_number);
    check("punctuation", is_punctuation);
    check("space", is_white_space);
    check("word", is_word_character);
}

TEST_CASE("steps do to every character what the library tokenizers does", "[server]") {
    const auto rows = read_lines(TokenizerFolder::fixture("classes.json"));
    using namespace huggingface;
    using Form = UnicodeForm::Form;
    const auto check = [&](const char* name, const NormaliserStep& step) {
        const Normaliser normaliser{{step}};
        std::string all;
        for (char32_t first = 0; first < 0x110000; first += 256) {
            std::string text;
            for (char32_t c = first; c < first + 256; ++c) {
                if (c >= 0xd800 && c < 0xe000) continue;
                text += 'a';
                append_character(text, c);
                text += "b ";
            }
            all += normaliser.apply(text);
        }
        CAPTURE(name);
        CHECK(blake2b(bytes_of(all)).hex() == text_of(rows.at(0)["digests"][name]));
    };
    check("Nmt", Nmt{});
    check("NFC", UnicodeForm{Form::kNfc});
    check("NFD", UnicodeForm{Form::kNfd});
    check("NFKC", UnicodeForm{Form::kNfkc});
    check("NFKD", UnicodeForm{Form::kNfkd});
    check("StripAccents", StripAccents{});
    check("Lowercase", Lowercase{});
}

/// Ids of a case: of a text, a pair or words, with the tokens around them.
Ids ids_of_case(const Pipeline& pipeline, const rapidjson::Value& row,
                const huggingface::Around& around) {
    Ids ids{around.before};
    const auto add = [&](const rapidjson::Value& text) {
        for (const auto id : pipeline.encode(text_of(text))) ids.push_back(id);
    };
    if (row.HasMember("words")) {
        for (const auto& word : row["words"].GetArray()) add(word);
    } else {
        add(row["text"]);
    }
    ids.push_back(around.after);
    if (!row.HasMember("pair")) return ids;
    add(row["pair"]);
    ids.push_back(around.after);
    return ids;
}

TEST_CASE("sahajBERT's tokenizer gives the ids of 516 cases", "[server]") {
    const char* const named = std::getenv("DEDLOC_SAHAJBERT");
    const fs::path folder = named != nullptr ? named : DEDLOC_SAHAJBERT;
    if (!fs::exists(folder / "sahajbert-tokenizer-cases.jsonl")) {
        WARN(folder.string() + " is absent: the cases of sahajBERT were not looked at");
        return;
    }
    const auto found = read_model_tokenizer(folder / "tokenizer.json");
    CHECK(found.model.empty());
    CHECK(found.json == platform::read_text(folder / "tokenizer.json", kMaxTokenizerBytes));
    CHECK(found.special == formats::SpecialTokens{});
    const Pipeline pipeline{found.spec.value()};
    const huggingface::Around around{.before = found.special.cls, .after = found.special.sep};
    int equal = 0;
    for (const auto& row : read_lines(folder / "sahajbert-tokenizer-cases.jsonl")) {
        const Ids ids = ids_of_case(pipeline, row, around);
        CAPTURE(json_of(row));
        CHECK(ids == ids_of(row["ids"]));
        equal += ids == ids_of(row["ids"]) ? 1 : 0;
    }
    CHECK(equal == 516);
}

}  // namespace
}  // namespace dedloc::tokenizer
