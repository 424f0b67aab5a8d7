// Which of a folder's files count, and what is refused.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "peer/base/error.hpp"
#include "project_server/huggingface/tokenizer_reader.hpp"
#include "project_server/tokenizer/model_tokenizer.hpp"
#include "project_server/tokenizer/pipeline.hpp"
#include "tests/project_server/tokenizer/tokenizer_folder.hpp"

namespace dedloc::tokenizer {
namespace {

namespace fs = std::filesystem;
using huggingface::AddedToken;
using huggingface::has_step;
using huggingface::Lowercase;
using huggingface::StripAccents;

/// tokenizer.json of the fixtures with one text replaced by another.
std::string json_with(const std::string& from, const std::string& to) {
    std::string json = platform::read_text(TokenizerFolder::fixture("tokenizer.json"));
    const auto at = json.find(from);
    REQUIRE(at != std::string::npos);
    return json.replace(at, from.size(), to);
}

TEST_CASE("a spiece.model alone means SentencePiece alone, unless rules are given", "[server]") {
    const TokenizerFolder folder;
    CHECK_FALSE(read_model_tokenizer(folder.file("spiece.model")).spec);
    CHECK_FALSE(read_model_tokenizer(folder.path).spec);
    const auto lower = read_model_tokenizer(folder.path, AlbertRules{}).spec;
    REQUIRE(lower);
    CHECK(has_step<Lowercase>(*lower));
    CHECK(has_step<StripAccents>(*lower));
    const auto cased =
        read_model_tokenizer(folder.path, AlbertRules{.lower_case = false, .keep_accents = true});
    CHECK_FALSE(has_step<Lowercase>(*cased.spec));
}

TEST_CASE("the files beside a spiece.model count, as the folder's do", "[server]") {
    const TokenizerFolder folder;
    SECTION("its configuration") {
        folder.configure("");
    }
    SECTION("a model of ALBERT") {
        folder.write("config.json", R"({"model_type":"albert"})");
    }
    SECTION("its tokenizer.json") {
        folder.write("tokenizer.json", json_with("\"", "\""));
    }
    SECTION("a list of special tokens") {
        folder.write("special_tokens_map.json", R"({"mask_token":"[MASK]"})");
    }
    const auto of_folder = read_model_tokenizer(folder.path);
    REQUIRE(of_folder.spec);
    CHECK(has_step<Lowercase>(*of_folder.spec));
    CHECK(read_model_tokenizer(folder.file("spiece.model")).spec == of_folder.spec);
    // They are not those of another model in the same folder.
    fs::copy_file(folder.file("spiece.model"), folder.file("other.model"));
    CHECK_FALSE(read_model_tokenizer(folder.file("other.model")).spec);
    CHECK_THROWS_WITH(read_model_tokenizer(folder.path, AlbertRules{}),
                      Catch::Contains("says itself what its tokenizer does"));
}

TEST_CASE("a tokenizer.json without a SentencePiece model is the whole tokenizer", "[server]") {
    const TokenizerFolder folder;
    const std::string json = json_with("\"", "\"");
    folder.write("tokenizer.json", json);
    const auto with_model = read_model_tokenizer(folder.path);
    const auto check = [&](const fs::path& path) {
        const auto found = read_model_tokenizer(path);
        CHECK(found.model.empty());
        CHECK(found.file == folder.file("tokenizer.json"));
        CHECK(found.json == json);  // byte for byte
        CHECK(found.spec == with_model.spec);
        CHECK(found.special == with_model.special);
    };
    check(folder.file("tokenizer.json"));
    fs::remove(folder.file("spiece.model"));
    check(folder.path);
    CHECK_THROWS_WITH(read_model_tokenizer(folder.path, AlbertRules{}),
                      Catch::Contains("says itself"));
    // A token that the configuration changes is in what is written.
    folder.configure(R"("added_tokens_decoder":{"4":{"content":"[MASK]","lstrip":false}})");
    const auto changed = read_model_tokenizer(folder.path);
    CHECK(changed.json != json);
    CHECK(huggingface::parse_tokenizer("again", changed.json) == changed.spec);
    CHECK(changed.spec != with_model.spec);
}

TEST_CASE("tokens of the configuration change those of tokenizer.json", "[server]") {
    const TokenizerFolder folder;
    folder.write("tokenizer.json", json_with("\"", "\""));
    const auto mask_takes_space = [&] {
        const auto found = read_model_tokenizer(folder.path);
        return found.spec.value().added.at(4).takes_space_before;
    };
    CHECK(mask_takes_space());
    folder.configure(R"("added_tokens_decoder":{"4":{"content":"[MASK]","lstrip":false}})");
    CHECK_FALSE(mask_takes_space());
    folder.configure(R"("mask_token":{"content":"[MASK]","lstrip":false})");
    CHECK(mask_takes_space());
}

// Each folder's ids were compared with those of transformers 4.57.6.
TEST_CASE("tokens that the folder adds are found in a text", "[server]") {
    const TokenizerFolder folder;
    const auto finds = [&](const char* token) {
        const auto spec = read_model_tokenizer(folder.path).spec;
        return std::ranges::find(spec.value().added, token, &AddedToken::content) !=
               spec->added.end();
    };
    folder.configure("");
    CHECK_FALSE(finds("the"));
    for (const char* const fields :
         {R"("additional_special_tokens":["the"])", R"("extra_special_tokens":["the"])",
          R"("extra_special_tokens":{"x_token":"the"})",
          R"("added_tokens_decoder":{"340":{"content":"the"}})"}) {
        CAPTURE(fields);
        folder.configure(fields);
        CHECK(finds("the"));
    }
    folder.configure("");
    folder.write("special_tokens_map.json", R"({"additional_special_tokens":["the"]})");
    CHECK(finds("the"));
    folder.configure(R"("added_tokens_decoder":{})");  // replaces the files of older versions
    CHECK_FALSE(finds("the"));
}

TEST_CASE("an added token that is not special is looked for in the normalised text", "[server]") {
    const TokenizerFolder folder;
    folder.configure(R"("added_tokens_decoder":{"340":{"content":"the"}})");
    const auto spec = read_model_tokenizer(folder.path).spec.value();
    const auto the = std::ranges::find(spec.added, "the", &AddedToken::content);
    REQUIRE(the != spec.added.end());
    CHECK(the->is_normalised);
    CHECK_FALSE(the->is_special);
    CHECK(Pipeline{spec}.encode("THE") == std::vector<std::uint16_t>{340});
}

TEST_CASE("added_tokens.json may repeat tokens that are there anyway", "[server]") {
    const TokenizerFolder folder;
    const bool is_configured = GENERATE(false, true);
    if (is_configured) folder.configure("");
    folder.write("added_tokens.json", R"({"[MASK]":4,"(":5,"<unk>":1})");
    const auto found = read_model_tokenizer(folder.path);
    fs::remove(folder.file("added_tokens.json"));
    folder.configure("");
    CHECK(found.spec.value() == read_model_tokenizer(folder.path).spec);

    const auto refuses = [&](const char* json, const char* reason) {
        CAPTURE(json);
        folder.write("added_tokens.json", json);
        CHECK_THROWS_WITH(read_model_tokenizer(folder.path),
                          Catch::Contains("added_tokens.json") && Catch::Contains(reason));
        CHECK_THROWS_AS(read_model_tokenizer(folder.file("spiece.model")), InputError);
    };
    refuses(R"({"<new>":400})", "adds the token '<new>' with the id 400");
    refuses(R"({"the":340})", "adds the token 'the' with the id 340");
    refuses(R"({"[MASK]":400})", "adds the token '[MASK]' with the id 400");
    refuses(R"({"[MASK]":"4"})", "the id of '[MASK]' is no number");
    refuses("[]", "must be an object");
    refuses("{", "is not JSON");
    folder.write("tokenizer.json", json_with("\"", "\""));
    refuses(R"({"<new>":400})", "adds the token '<new>' with the id 400");
}

TEST_CASE("fields of a configuration that are not implemented are refused by their names",
          "[server]") {
    const TokenizerFolder folder;
    const auto refuses = [&](const std::string& reason) {
        CHECK_THROWS_WITH(read_model_tokenizer(folder.path), Catch::Contains(reason));
        CHECK_THROWS_AS(read_model_tokenizer(folder.path), InputError);
    };
    const auto refuses_field = [&](const char* fields, const char* reason) {
        CAPTURE(fields);
        folder.configure(fields);
        refuses(reason);
    };
    refuses_field(R"("add_prefix_space":false)", "add_prefix_space");
    refuses_field(R"("sp_model_kwargs":{"enable_sampling":true})", "sp_model_kwargs");
    refuses_field(R"("split_special_tokens":true)", "split_special_tokens");
    refuses_field(R"("from_slow":true)", "from_slow");
    refuses_field(R"("vocab_file":"/other/spiece.model")", "asks for another file");
    refuses_field(R"("tokenizer_file":"/other/tokenizer.json")", "asks for another file");
    refuses_field(R"("fast_tokenizer_files":["tokenizer.json","tokenizer.4.0.json"])",
                  "fast_tokenizer_files");
    refuses_field(R"("image_token":"the")", "image_token");
    refuses_field(R"("extra_special_tokens":{"x_token":"<new>"})", "'<new>' is no piece");
    refuses_field(R"("extra_special_tokens":"the")", "extra_special_tokens");
    refuses_field(R"("auto_map":{"AutoTokenizer":["x.T",null]})", "auto_map");
    refuses_field(R"("do_lower_case":"yes")", "do_lower_case");
    refuses_field(R"("additional_special_tokens":["<new>"])", "'<new>' is no piece");
    refuses_field(R"("added_tokens_decoder":{"x":{"content":"a"}})", "the id 'x'");
    refuses_field(R"("mask_token":"[GONE]")", "'[GONE]' is no piece");
    refuses_field(R"("mask_token":"[SEP]")", "two special meanings");
    folder.configure(R"("from_slow":null,"vocab_file":null,"tokenizer_file":null,)"
                     R"("fast_tokenizer_files":["tokenizer.json"],"image_token":null)");
    CHECK(read_model_tokenizer(folder.path).spec);
    folder.write("tokenizer_config.json", R"({"tokenizer_class":"T5Tokenizer"})");
    refuses("'T5Tokenizer' is not implemented");
    folder.write("tokenizer_config.json", R"({"tokenizer_class":"PreTrainedTokenizerFast"})");
    refuses("needs a tokenizer.json");
    folder.write("tokenizer_config.json", "[]");
    refuses("must be an object");
}

TEST_CASE("what a tokenizer asks for and is not implemented is refused by its name", "[server]") {
    const TokenizerFolder folder;
    const auto refuses = [&](const std::string& reason) {
        CHECK_THROWS_WITH(read_model_tokenizer(folder.path), Catch::Contains(reason));
        CHECK_THROWS_AS(read_model_tokenizer(folder.path), InputError);
    };
    SECTION("parts of tokenizer.json") {
        const auto refuses_part = [&](const char* from, const char* to, const char* reason) {
            CAPTURE(from, to);
            folder.write("tokenizer.json", json_with(from, to));
            refuses(reason);
        };
        refuses_part(R"("type":"NFKD")", R"("type":"BertNormalizer")",
                     "the normalizer 'BertNormalizer'");
        refuses_part(R"("type":"NFKD")", R"("type":"ByteLevel")", "the normalizer 'ByteLevel'");
        refuses_part(R"( {2,})", R"((?<=a*b)", R"(the regular expression '(?<=a*b')");
        refuses_part(R"("type":"Metaspace")", R"("type":"UnicodeScripts")",
                     "pre_tokenizer 'UnicodeScripts'");
        refuses_part(R"("type":"Metaspace")", R"("type":"ByteLevel")", "pre_tokenizer 'ByteLevel'");
        refuses_part(R"("type":"Unigram")", R"("type":"BPE")", "the model 'BPE'");
        refuses_part(R"("byte_fallback":false)", R"("byte_fallback":true)", "byte_fallback");
        refuses_part(R"("type":"TemplateProcessing")", R"("type":"RobertaProcessing")",
                     "post_processor 'RobertaProcessing'");
        refuses_part(R"("version":)", R"("dropout":)", "the field 'dropout'");
        refuses_part(R"(["<unk>",)", R"(["<unknown>",)", "<unk>");
        refuses_part(R"("unk_id":1)", R"("unk_id":2)", "unk_token");
        refuses_part(R"({)", "", "is not JSON");
    }
    SECTION("files that contradict one another") {
        folder.write("tokenizer.json", json_with("\"", "\""));
        folder.configure(R"("do_lower_case":false)");
        refuses("do_lower_case is false, but");
        folder.configure(R"("keep_accents":true)");
        refuses("keep_accents is true, but");
        folder.write("tokenizer_config.json",
                     R"({"tokenizer_class":"PreTrainedTokenizerFast","do_lower_case":false})");
        CHECK(read_model_tokenizer(folder.path).spec);
    }
    SECTION("a tokenizer.json without its SentencePiece model") {
        fs::remove(folder.file("spiece.model"));
        refuses("has neither a spiece.model nor a tokenizer.json");
        folder.write("tokenizer.json", json_with("\"", "\""));
        folder.configure(R"("cls_token":"<pad>","pad_token":"[CLS]")");
        refuses("puts other tokens around a text");
        folder.configure(R"("mask_token":"<unk>")");
        refuses("one token has two special meanings");
    }
    SECTION("a damaged SentencePiece model") {
        folder.configure("");
        folder.write("spiece.model", "nonsense");
        refuses("not a SentencePiece model");
    }
}

}  // namespace
}  // namespace dedloc::tokenizer
