#include <catch2/catch.hpp>

#include "peer/base/error.hpp"
#include "project_server/huggingface/albert_config.hpp"

namespace dedloc::huggingface {
namespace {

TEST_CASE("a configuration is read as it was written", "[server]") {
    formats::RunFile run;
    run.model = formats::AlbertSpec{.vocabulary = 30'000,
                                    .embedding = 128,
                                    .hidden = 1'024,
                                    .layers = 24,
                                    .heads = 16,
                                    .ffn = 4'096,
                                    .positions = 512,
                                    .hidden_dropout = 0.1,
                                    .attention_dropout = 0.25,
                                    .classifier_dropout = 0.5};
    CHECK(read_albert_config("x", write_albert_config(run)) == formats::albert_of(run));
    const auto defaults = read_albert_config("x", R"({"model_type":"albert"})");
    CHECK(defaults.hidden == 4'096);
    CHECK(defaults.heads == 64);
    CHECK(defaults.hidden_dropout == 0);
    CHECK(defaults.classifier_dropout == 0.1);
}

TEST_CASE("a model that no run trains is refused by the field", "[server]") {
    const auto refuses = [](const std::string& field, const char* reason) {
        const std::string json = R"({"model_type":"albert",)" + field + "}";
        CAPTURE(json);
        CHECK_THROWS_WITH(read_albert_config("config.json", json), Catch::Contains(reason));
    };
    CHECK_THROWS_WITH(read_albert_config("x", R"({"model_type":"bert"})"),
                      Catch::Contains("model_type = 'albert', not 'bert'"));
    CHECK_THROWS_WITH(read_albert_config("x", "{}"), Catch::Contains("model_type"));
    CHECK_THROWS_AS(read_albert_config("x", "nonsense"), InputError);
    refuses(R"("hidden_act":"gelu")", "hidden_act = 'gelu_new', not 'gelu'");
    refuses(R"("num_hidden_groups":2)", "num_hidden_groups = 1");
    refuses(R"("inner_group_num":2)", "inner_group_num");
    refuses(R"("layer_norm_eps":1e-5)", "layer_norm_eps");
    refuses(R"("tie_word_embeddings":false)", "tie_word_embeddings");
    refuses(R"("type_vocab_size":3)", "type_vocab_size");
    refuses(R"("hidden_size":0)", "hidden_size");
    refuses(R"("hidden_dropout_prob":1)", "hidden_dropout_prob");
    refuses(R"("hidden_size":"many")", "hidden_size");
    refuses(R"("num_attention_heads":3,"hidden_size":16)", "must divide");
}

}  // namespace
}  // namespace dedloc::huggingface
