// Reading takes every field through Config, which puts the default of AlbertConfig where the file
// has none. Fields that must have one certain value are required first, so a file of another
// architecture is refused for that reason; only then are the sizes read. Writing uses the
// same constants as reading, so a run can start from a model that was written here.
#include "project_server/huggingface/albert_config.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "peer/base/error.hpp"
#include "peer/formats/json_fields.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::huggingface {
namespace {

constexpr std::size_t kMaxModelConfigBytes = std::size_t{1} << 20;
constexpr const char* kActivation = "gelu_new";
constexpr double kLayerNormEpsilon = 1e-12;
constexpr std::uint64_t kTokenTypes = 2;

/// Fields of the file; absent ones have a default.
class Config {
  public:
    Config(const rapidjson::Value& value, const std::string& document)
        : fields_(value, "", document), document_(document) {}

    std::uint64_t integer(const char* name, std::uint64_t otherwise) {
        return fields_.has(name) ? fields_.integer(name, 1, std::uint64_t{1} << 24) : otherwise;
    }
    double rate(const char* name, double otherwise) {
        return fields_.has(name) ? fields_.number(name, 0, formats::kMaxDropout) : otherwise;
    }
    /// Refuses the file unless this field has this value.
    void require_integer(const char* name, std::uint64_t value) {
        if (integer(name, value) != value) refuse(name, fmt::format("{}", value));
    }
    void require_text(const char* name, const std::string& value, const std::string& otherwise) {
        const std::string given = fields_.has(name) ? fields_.text(name, 254) : otherwise;
        if (given != value) refuse(name, fmt::format("'{}', not '{}'", value, given));
    }
    void require_number(const char* name, double value) {
        const double given = fields_.has(name) ? fields_.number(name, 0, 1) : value;
        if (given != value) refuse(name, fmt::format("{}, not {}", value, given));
    }
    void require_true(const char* name) {
        if (fields_.has(name) && !fields_.boolean(name)) refuse(name, "true");
    }

  private:
    [[noreturn]] void refuse(const char* name, const std::string& needed) const {
        throw InputError(
            fmt::format("{}: a run trains ALBERT with {} = {}", document_, name, needed));
    }

    formats::JsonFields fields_;
    const std::string document_;
};

}  // namespace

std::string write_albert_config(const formats::RunFile& run) {
    const formats::AlbertSpec& model = formats::albert_of(run);
    json::Value data;
    data.set("architectures", json::Value::List{"AlbertForPreTraining"});
    data.set("attention_probs_dropout_prob", model.attention_dropout);
    data.set("bos_token_id", run.special_tokens.cls);
    data.set("classifier_dropout_prob", model.classifier_dropout);
    data.set("dtype", "float32");
    data.set("embedding_size", model.embedding);
    data.set("eos_token_id", run.special_tokens.sep);
    data.set("hidden_act", kActivation);
    data.set("hidden_dropout_prob", model.hidden_dropout);
    data.set("hidden_size", model.hidden);
    data.set("initializer_range", 0.02);
    data.set("inner_group_num", 1);
    data.set("intermediate_size", model.ffn);
    data.set("layer_norm_eps", kLayerNormEpsilon);
    data.set("max_position_embeddings", model.positions);
    data.set("model_type", "albert");
    data.set("num_attention_heads", model.heads);
    data.set("num_hidden_groups", 1);
    data.set("num_hidden_layers", model.layers);
    data.set("pad_token_id", run.special_tokens.pad);
    data.set("position_embedding_type", "absolute");
    data.set("tie_word_embeddings", true);
    data.set("torch_dtype", "float32");  // the name that transformers 4 reads
    data.set("type_vocab_size", kTokenTypes);
    data.set("vocab_size", model.vocabulary);
    return json::write_pretty(data, 2) + "\n";
}

formats::AlbertSpec read_albert_config(const std::string& document, std::string_view json) {
    const auto parsed = formats::parse_json(document, json, kMaxModelConfigBytes);
    Config config{parsed, document};
    config.require_text("model_type", "albert", "");
    config.require_text("hidden_act", kActivation, kActivation);
    config.require_text("position_embedding_type", "absolute", "absolute");
    config.require_integer("num_hidden_groups", 1);
    config.require_integer("inner_group_num", 1);
    config.require_integer("type_vocab_size", kTokenTypes);
    config.require_number("layer_norm_eps", kLayerNormEpsilon);
    config.require_true("tie_word_embeddings");
    // The defaults of AlbertConfig are those of ALBERT-xxlarge.
    formats::AlbertSpec model;
    model.vocabulary = config.integer("vocab_size", 30'000);
    model.embedding = config.integer("embedding_size", 128);
    model.hidden = config.integer("hidden_size", 4'096);
    model.layers = config.integer("num_hidden_layers", 12);
    model.heads = config.integer("num_attention_heads", 64);
    model.ffn = config.integer("intermediate_size", 16'384);
    model.positions = config.integer("max_position_embeddings", 512);
    model.hidden_dropout = config.rate("hidden_dropout_prob", 0);
    model.attention_dropout = config.rate("attention_probs_dropout_prob", 0);
    model.classifier_dropout = config.rate("classifier_dropout_prob", 0.1);
    if (model.hidden % model.heads != 0) {
        throw InputError(fmt::format("{}: num_attention_heads must divide hidden_size", document));
    }
    return model;
}

}  // namespace dedloc::huggingface
