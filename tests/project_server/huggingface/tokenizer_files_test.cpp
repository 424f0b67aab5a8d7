#include <rapidjson/document.h>

#include <catch2/catch.hpp>

#include "peer/base/error.hpp"
#include "project_server/huggingface/tokenizer_files.hpp"

namespace dedloc::huggingface {
namespace {

/// Fields of a protocol buffer.
std::string bytes_field(int number, const std::string& bytes) {
    std::string text{static_cast<char>(number << 3 | 2)};
    text += static_cast<char>(bytes.size());  // below 128
    return text + bytes;
}
std::string number_field(int number, char value) {
    return {static_cast<char>(number << 3), value};
}
std::string piece(const std::string& text, char type) {
    const std::string score("\x15\0\0\0\xc0", 5);  // field 2: -2
    return bytes_field(1, bytes_field(1, text) + score + number_field(3, type));
}

std::string small_model() {
    std::string model;
    for (const char* text : {"<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"}) model += piece(text, 3);
    model += piece("\u2581a", 1) + piece("b", 1);
    model += bytes_field(2, number_field(3, 1));
    model +=
        bytes_field(3, bytes_field(1, "nmt_nfkc_cf") + bytes_field(2, std::string{"\0\1\2", 3}));
    return model;
}

TEST_CASE("the pieces and the normaliser of a SentencePiece model are read", "[server]") {
    const auto model = parse_sentencepiece(bytes_of(small_model()));
    REQUIRE(model.pieces.size() == 7);
    CHECK(model.pieces[4].text == "[MASK]");
    CHECK(model.pieces[4].type == 3);
    CHECK(model.pieces[5].text == "\u2581a");
    CHECK(model.pieces[5].score == -2);
    CHECK(model.charsmap == std::string("\0\1\2", 3));
    CHECK(model.adds_prefix);
    const std::string whole = small_model();
    CHECK_THROWS_AS(parse_sentencepiece({}), InputError);
    CHECK_THROWS_AS(parse_sentencepiece(bytes_of("nonsense")), InputError);
    int refused = 0;  // a cut between two fields leaves a shorter model
    for (std::size_t length = 0; length < whole.size(); ++length) {
        try {
            parse_sentencepiece(bytes_of(whole).first(length));
        } catch (const InputError&) {
            ++refused;
        }
    }
    CHECK(refused > 80);
}

TEST_CASE("the tokenizer of a model folder has the same pieces and special tokens", "[server]") {
    formats::RunFile run;
    formats::albert_of(run).positions = 64;
    auto model = parse_sentencepiece(bytes_of(small_model()));
    rapidjson::Document json;
    json.Parse(write_tokenizer(model, run).c_str());
    REQUIRE(json.IsObject());
    CHECK(std::string{json["model"]["type"].GetString()} == "Unigram");
    CHECK(json["model"]["unk_id"].GetUint64() == 1);
    REQUIRE(json["model"]["vocab"].Size() == 7);
    CHECK(std::string{json["model"]["vocab"][5][0].GetString()} == "\u2581a");
    CHECK(json["model"]["vocab"][5][1].GetDouble() == -2.0);
    CHECK(json["added_tokens"].Size() == 5);
    CHECK(std::string{json["added_tokens"][4]["content"].GetString()} == "[MASK]");
    CHECK(std::string{json["normalizer"]["normalizers"][0]["precompiled_charsmap"].GetString()} ==
          "AAEC");
    CHECK(json["post_processor"]["pair"].Size() == 5);
    json.Parse(write_tokenizer_config(model, run).c_str());
    CHECK(std::string{json["mask_token"].GetString()} == "[MASK]");
    CHECK(std::string{json["cls_token"].GetString()} == "[CLS]");
    CHECK(json["model_max_length"].GetUint64() == 64);
    SECTION("special tokens that the model lacks") {
        run.special_tokens.mask = 7;
        CHECK_THROWS_WITH(write_tokenizer(model, run), Catch::Contains("has 7 pieces"));
    }
    SECTION("bytes that are no text") {
        model.pieces[6].text = GENERATE("\xff", "cut in a character \xf3");
        CHECK_THROWS_WITH(write_tokenizer(model, run), Catch::Contains("not UTF-8"));
    }
    SECTION("another kind of model") {
        model.algorithm = 2;
        CHECK_THROWS_WITH(write_tokenizer(model, run), Catch::Contains("Unigram"));
    }
}

}  // namespace
}  // namespace dedloc::huggingface
