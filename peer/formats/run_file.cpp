// One read_ function and one put_ function for each object of the file; corpus_fields.hpp has those
// that a corpus contains, too. parse_run_file() asks for the fields in a fixed order, the version
// first, and finish() refuses unknown ones. write_run_file() writes the canonical form, whose
// digest is the run's id, and parses it again as a check. A new field must not appear in the
// canonical form while it has its default, or the ids of existing runs would change (`codec`).
#include "peer/formats/run_file.hpp"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <variant>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/base/text.hpp"
#include "peer/formats/corpus_fields.hpp"
#include "peer/formats/json_fields.hpp"
#include "peer/formats/json_puts.hpp"
#include "peer/formats/module_fields.hpp"
#include "peer/formats/swav_fields.hpp"
#include "peer/formats/task.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::formats {
namespace {

constexpr std::uint64_t kMaxExtent = std::uint64_t{1} << 24;
constexpr std::uint64_t kMaxTokens = std::uint64_t{1} << 16;  // token ids in shards have 16 bits
constexpr std::uint64_t kMaxSteps = std::uint64_t{1} << 32;
constexpr double kMaxDouble = 1e30;

const char* name_of(Initial initial) {
    switch (initial) {
        case Initial::kZero:
            return "zero";
        case Initial::kOne:
            return "one";
        case Initial::kNormal:
            return "normal";
    }
    return "unknown";
}

// --- reading ------------------------------------------------------------------------------------

void require_version(JsonFields& fields) {
    // Files without the field are of version 1.
    const std::uint64_t version =
        fields.has("version") ? fields.integer("version", 0, ~std::uint64_t{0}) : 1;
    if (version < kRunFileVersion) {
        throw InputError{fmt::format(
            "the run file has version {} of the format, but this program reads version {}: create "
            "the run again with this version of dedloc",
            version, kRunFileVersion)};
    }
    if (version > kRunFileVersion) {
        throw InputError{fmt::format(
            "the run file has version {} of the format, but this program reads version {}: use the "
            "program of the version that created the run",
            version, kRunFileVersion)};
    }
}

double read_dropout(JsonFields& fields, const char* name) {
    return fields.has(name) ? fields.number(name, 0, kMaxDropout) : 0;
}

AlbertSpec read_albert(JsonFields& fields) {
    AlbertSpec model;
    model.vocabulary = fields.integer("vocabulary", 6, kMaxTokens);
    model.embedding = fields.integer("embedding", 1, kMaxExtent);
    model.hidden = fields.integer("hidden", 1, kMaxExtent);
    model.layers = fields.integer("layers", 1, 1'024);
    model.heads = fields.integer("heads", 1, kMaxExtent);
    model.ffn = fields.integer("ffn", 1, kMaxExtent);
    model.positions = fields.integer("positions", 8, kMaxExtent);
    model.hidden_dropout = read_dropout(fields, "hidden_dropout");
    model.attention_dropout = read_dropout(fields, "attention_dropout");
    model.classifier_dropout = read_dropout(fields, "classifier_dropout");
    if (model.hidden % model.heads != 0) fields.refuse("heads", "must divide 'model.hidden'");
    return model;
}

ModelSpec read_model(JsonFields fields) {
    const std::string architecture = fields.text("architecture", kMaxNameBytes);
    ModelSpec model;
    if (architecture == kSwav) {
        model = read_swav(fields);
    } else if (architecture == kAlbert) {
        model = read_albert(fields);
    } else if (architecture == kModule) {
        model = read_module(fields);
    } else {
        fields.refuse("architecture", "must be 'albert', 'swav' or 'module'");
    }
    fields.finish();
    return model;
}

bool has_epsilon(Optimizer optimizer) {
    return is_lamb(optimizer) || optimizer == Optimizer::kSgdLarc;
}

/// The learning rates before the warm-up and at the end of the schedule.
void read_ends(JsonFields& fields, OptimizerSpec& optimizer) {
    constexpr const char* kStart = "start_learning_rate";
    constexpr const char* kFinal = "final_learning_rate";
    if (fields.has(kStart)) {
        optimizer.start_learning_rate = fields.number(kStart, 0, optimizer.learning_rate);
    }
    if (fields.has(kFinal)) {
        optimizer.final_learning_rate = fields.number(kFinal, 0, optimizer.learning_rate);
    }
    if (optimizer.start_learning_rate > 0 && optimizer.warmup_steps == 0) {
        fields.refuse(kStart, "needs 'optimizer.warmup_steps' of at least 1");
    }
    if (optimizer.final_learning_rate > 0 && !has_final_rate(optimizer.schedule)) {
        fields.refuse(kFinal, "needs the schedule 'linear' or 'cosine'");
    }
}

OptimizerSpec read_optimizer(JsonFields fields) {
    OptimizerSpec optimizer;
    const auto name = optimizer_named(fields.text("name", kMaxNameBytes));
    if (!name) fields.refuse("name", "must be 'lamb', 'lamb_nvidia', 'sgd' or 'sgd_larc'");
    optimizer.name = *name;
    if (fields.has("schedule")) {
        const auto schedule = schedule_named(fields.text("schedule", kMaxNameBytes));
        if (!schedule) {
            fields.refuse("schedule", "must be 'linear', 'cosine', 'constant' or 'inverse_sqrt'");
        }
        optimizer.schedule = *schedule;
    }
    optimizer.learning_rate = fields.number("learning_rate", 0, 1'000);
    optimizer.warmup_steps = fields.integer("warmup_steps", 0, kMaxSteps);
    read_ends(fields, optimizer);
    if (is_lamb(*name)) {
        optimizer.beta1 = fields.number("beta1", 0, 0.999999);
        optimizer.beta2 = fields.number("beta2", 0, 0.999999);
    } else {
        optimizer.momentum = fields.number("momentum", 0, 0.999999);
    }
    if (has_epsilon(*name)) optimizer.epsilon = fields.number("epsilon", 1e-30, 1);
    if (*name == Optimizer::kSgdLarc) optimizer.trust = fields.number("trust", 1e-30, 1'000);
    optimizer.weight_decay = fields.number("weight_decay", 0, 1'000);
    optimizer.clip_norm = fields.number("clip_norm", 0, kMaxDouble);
    fields.finish();
    return optimizer;
}

Endpoint read_endpoint(JsonFields& fields, const rapidjson::Value& value) {
    const auto parts = value.IsString()
                           ? split_host_and_port({value.GetString(), value.GetStringLength()})
                           : std::nullopt;
    if (!parts || parts->port == 0 || parts->host.size() > wire::kMaxHostBytes ||
        !is_made_of_letters(parts->host, "-.:_")) {
        fields.refuse("dht_seeds", "must contain addresses of the form host:port");
    }
    return {parts->host, parts->port};
}

bool read_encryption(JsonFields& fields) {
    if (!fields.has("encryption")) return true;
    const std::string encryption = fields.text("encryption", kMaxNameBytes);
    if (encryption != "on" && encryption != "off")
        fields.refuse("encryption", "must be 'on' or 'off'");
    return encryption == "on";
}

Codec read_codec(JsonFields& fields) {
    if (!fields.has("codec")) return Codec::kFp32;
    const auto codec = codec_named(fields.text("codec", kMaxNameBytes));
    if (!codec) fields.refuse("codec", "must be 'fp32', 'fp16', 'bf16' or 'int8'");
    return *codec;
}

/// Two keys, or the theft of one would be the theft of both.
void read_ticket_key(JsonFields& fields, RunFile& run) {
    if (!fields.has("ticket_key")) return;
    fields.hex("ticket_key", run.ticket_key.emplace().bytes);
    if (*run.ticket_key == run.project_key) {
        fields.refuse("ticket_key", "must be another key than the project's");
    }
}

std::string read_gateway(JsonFields& fields) {
    if (!fields.has("gateway")) return {};
    std::string gateway = fields.text("gateway", wire::kMaxUrlBytes);
    if (!has_web_scheme(gateway) || !gateway.ends_with('/')) {
        fields.refuse("gateway", "must be an http or https URL that ends with a slash");
    }
    return gateway;
}

TensorSpec read_tensor(JsonFields& fields) {
    TensorSpec tensor;
    tensor.name = fields.text("name", kMaxNameBytes);
    std::uint64_t count = 1;
    for (const auto& extent : fields.array("shape", 1, 8).GetArray()) {
        if (!extent.IsUint64() || extent.GetUint64() == 0) {
            fields.refuse("shape", "must contain whole numbers of at least 1");
        }
        if (extent.GetUint64() > wire::kMaxElements / count) fields.refuse("shape", "is too large");
        count *= extent.GetUint64();
        tensor.shape.push_back(extent.GetUint64());
    }
    const std::string initial = fields.text("init", kMaxNameBytes);
    if (initial == "normal") {
        tensor.initial = Initial::kNormal;
        tensor.deviation = fields.number("deviation", 1e-30, 1'000);
    } else if (initial == "one") {
        tensor.initial = Initial::kOne;
    } else if (initial != "zero") {
        fields.refuse("init", "must be 'zero', 'one' or 'normal'");
    }
    tensor.decays = fields.boolean("decay");
    tensor.has_unit_rows = fields.has("unit_rows") && fields.boolean("unit_rows");
    if (tensor.has_unit_rows && tensor.shape.size() < 2) {
        fields.refuse("unit_rows", "needs a shape of at least two extents");
    }
    if (fields.has("frozen_steps")) {
        tensor.frozen_steps = fields.integer("frozen_steps", 0, kMaxSteps);
    }
    fields.finish();
    return tensor;
}

template <class Element>
void refuse_repeated_names(const std::vector<Element>& elements, const JsonFields& fields,
                           const char* field) {
    std::unordered_set<std::string_view> names;
    for (const Element& element : elements) {
        if (!names.insert(element.name).second) {
            fields.refuse(field, fmt::format("contains '{}' twice", element.name));
        }
    }
}

void read_lists(JsonFields& fields, RunFile& run) {
    for (const auto& value : fields.array("dht_seeds", 0, 64).GetArray()) {
        run.dht_seeds.push_back(read_endpoint(fields, value));
    }
    run.sources = read_sources(fields);
    run.shards = read_shards(fields, 0, run.sources);
    if (fields.has("shards_per_job")) {
        const auto trained = std::ranges::count(run.shards, false, &ShardReference::is_held_out);
        run.shards_per_job =
            fields.integer("shards_per_job", 0, static_cast<std::uint64_t>(trained));
    }
    std::uint64_t elements = 0;
    std::uint64_t unit_rows = 0;
    for (JsonFields& tensor : fields.objects("tensors", 1, kMaxTensors)) {
        run.tensors.push_back(read_tensor(tensor));
        elements += run.tensors.back().padded_count();
        if (elements > wire::kMaxElements)
            fields.refuse("tensors",
                          fmt::format("have more than {} elements together", wire::kMaxElements));
        if (run.tensors.back().has_unit_rows) unit_rows += run.tensors.back().shape.front();
        if (unit_rows > kMaxUnitRows) {
            fields.refuse("tensors", fmt::format("have more than {} rows of unit length together",
                                                 kMaxUnitRows));
        }
    }
    refuse_repeated_names(run.shards, fields, "shards");
    refuse_repeated_names(run.tensors, fields, "tensors");
}

// --- writing ------------------------------------------------------------------------------------

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

void put_dropout(Writer& out, const char* name, double rate) {
    if (rate > 0) put(out, name, rate);
}

void put_model(Writer& out, const AlbertSpec& model) {
    put(out, "vocabulary", model.vocabulary);
    put(out, "embedding", model.embedding);
    put(out, "hidden", model.hidden);
    put(out, "layers", model.layers);
    put(out, "heads", model.heads);
    put(out, "ffn", model.ffn);
    put(out, "positions", model.positions);
    put_dropout(out, "hidden_dropout", model.hidden_dropout);
    put_dropout(out, "attention_dropout", model.attention_dropout);
    put_dropout(out, "classifier_dropout", model.classifier_dropout);
}
void put_model(Writer& out, const SwavSpec& model) {
    put_swav(out, model);
}
void put_model(Writer& out, const ModuleSpec& model) {
    put_module(out, model);
}

void put_optimizer(Writer& out, const OptimizerSpec& optimizer) {
    out.Key("optimizer");
    out.StartObject();
    put(out, "name", name_of(optimizer.name));
    // Not written for linear, so that runs that are older than schedules keep their ids.
    if (optimizer.schedule != Schedule::kLinear) {
        put(out, "schedule", name_of(optimizer.schedule));
    }
    put(out, "learning_rate", optimizer.learning_rate);
    put(out, "warmup_steps", optimizer.warmup_steps);
    // Not written for 0, so that runs that are older than these fields keep their ids.
    if (optimizer.start_learning_rate > 0) {
        put(out, "start_learning_rate", optimizer.start_learning_rate);
    }
    if (optimizer.final_learning_rate > 0) {
        put(out, "final_learning_rate", optimizer.final_learning_rate);
    }
    if (is_lamb(optimizer.name)) {
        put(out, "beta1", optimizer.beta1);
        put(out, "beta2", optimizer.beta2);
    } else {
        put(out, "momentum", optimizer.momentum);
    }
    if (has_epsilon(optimizer.name)) put(out, "epsilon", optimizer.epsilon);
    if (optimizer.name == Optimizer::kSgdLarc) put(out, "trust", optimizer.trust);
    put(out, "weight_decay", optimizer.weight_decay);
    put(out, "clip_norm", optimizer.clip_norm);
    out.EndObject();
}

void put_tensor(Writer& out, const TensorSpec& tensor) {
    out.StartObject();
    put(out, "name", tensor.name);
    put(out, "shape", tensor.shape);
    put(out, "init", name_of(tensor.initial));
    if (tensor.initial == Initial::kNormal) put(out, "deviation", tensor.deviation);
    put(out, "decay", tensor.decays);
    if (tensor.has_unit_rows) put(out, "unit_rows", true);
    if (tensor.frozen_steps != 0) put(out, "frozen_steps", tensor.frozen_steps);
    out.EndObject();
}

void put_lists(Writer& out, const RunFile& run) {
    out.Key("dht_seeds");
    out.StartArray();
    for (const Endpoint& seed : run.dht_seeds) out.String(seed.text().c_str());
    out.EndArray();
    put_sources(out, std::span{run.sources}.first(run.sources.size() - run.added_sources));
    put_shards(out, std::span{run.shards}.first(run.shards.size() - run.added_shards));
    if (run.shards_per_job != 0) put(out, "shards_per_job", run.shards_per_job);
    if (holds_text(run)) put_special_tokens(out, run.special_tokens);
    out.Key("tensors");
    out.StartArray();
    for (const TensorSpec& tensor : run.tensors) put_tensor(out, tensor);
    out.EndArray();
}

std::string serialise(const RunFile& run) {
    rapidjson::StringBuffer buffer;
    Writer out(buffer);
    out.StartObject();
    put(out, "version", kRunFileVersion);
    put(out, "name", run.name);
    put(out, "seed", run.seed);
    if (run.initial_state) put(out, "initial_state", run.initial_state->hex());
    out.Key("model");
    out.StartObject();
    put(out, "architecture", architecture_of(run));
    std::visit([&](const auto& model) { put_model(out, model); }, run.model);
    out.EndObject();
    if (holds_text(run)) put(out, "sequence_length", run.sequence_length);
    put(out, "target_batch", run.target_batch);
    put(out, "steps", run.steps);
    put_optimizer(out, run.optimizer);
    put(out, "flops_per_sample", run.flops_per_sample);
    put(out, "project_key", run.project_key.hex());
    // Not written without one, so that runs that are older than ticket keys keep their ids.
    if (run.ticket_key) put(out, "ticket_key", run.ticket_key->hex());
    put(out, "backbone_key", run.backbone_key.hex());
    if (!run.gateway.empty()) put(out, "gateway", run.gateway);
    put(out, "encryption", run.encrypts ? "on" : "off");
    // Not written for fp32, so that runs that are older than codecs keep their ids.
    if (run.codec != Codec::kFp32) put(out, "codec", name_of(run.codec));
    if (run.overlaps) put(out, "overlap", true);
    put_lists(out, run);
    out.EndObject();
    return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace

RunFile parse_run_file(std::string_view json) {
    const rapidjson::Document document = parse_json("the run file", json, kMaxRunFileBytes);
    JsonFields fields{document, ""};
    require_version(fields);
    RunFile run;
    run.name = fields.text("name", 64);
    run.seed = fields.integer("seed", 0, ~std::uint64_t{0});
    if (fields.has("initial_state")) fields.hex("initial_state", run.initial_state.emplace().bytes);
    run.model = read_model(fields.object("model"));
    if (holds_text(run)) {
        run.sequence_length = fields.integer("sequence_length", 8, longest_sequence(run));
    }
    run.target_batch = fields.integer("target_batch", 1, wire::kMaxTargetBatch);
    const std::uint64_t unit = samples_together(run);
    if (run.target_batch % unit != 0) {
        fields.refuse("target_batch",
                      fmt::format("must be a multiple of {}, the pictures of a micro-batch", unit));
    }
    run.steps = fields.integer("steps", 1, kMaxSteps);
    run.optimizer = read_optimizer(fields.object("optimizer"));
    run.flops_per_sample = fields.number("flops_per_sample", 1, kMaxDouble);
    fields.hex("project_key", run.project_key.bytes);
    read_ticket_key(fields, run);
    fields.hex("backbone_key", run.backbone_key.bytes);
    run.gateway = read_gateway(fields);
    run.encrypts = read_encryption(fields);
    run.codec = read_codec(fields);
    run.overlaps = fields.has("overlap") && fields.boolean("overlap");
    if (holds_text(run)) {
        run.special_tokens = read_special_tokens(fields, vocabulary_of(run));
    }
    read_lists(fields, run);
    fields.finish();
    return run;
}

std::string write_run_file(const RunFile& run) {
    std::string json = serialise(run);
    const RunFile again = parse_run_file(json);
    const bool is_same = run.added_sources == 0 ? again == run : serialise(again) == json;
    if (!is_same) throw InputError{"the run file does not read back as it was written"};
    return json;
}

const AlbertSpec& albert_of(const RunFile& run) {
    const auto* const model = std::get_if<AlbertSpec>(&run.model);
    DEDLOC_CHECK(model != nullptr, "the run trains no ALBERT");
    return *model;
}

AlbertSpec& albert_of(RunFile& run) {
    return const_cast<AlbertSpec&>(albert_of(std::as_const(run)));
}

RunId run_id(const RunFile& run) {
    return RunId{blake2b(bytes_of(serialise(run))).bytes};
}

bool is_signed_for(const RunFile& run, const SignedTicket& ticket) {
    const TicketSigners signers{.project = run.project_key, .gateway = run.ticket_key};
    return is_signed_by(signers, ticket);
}

std::vector<std::uint64_t> tensor_offsets(const RunFile& run) {
    std::vector<std::uint64_t> offsets;
    std::uint64_t offset = 0;
    for (const TensorSpec& tensor : run.tensors) {
        offsets.push_back(offset);
        offset += tensor.padded_count();
    }
    return offsets;
}

std::uint64_t element_count(const RunFile& run) {
    std::uint64_t count = 0;
    for (const TensorSpec& tensor : run.tensors) count += tensor.padded_count();
    return count;
}

std::uint64_t parameter_count(const RunFile& run) {
    std::uint64_t count = 0;
    for (const TensorSpec& tensor : run.tensors) count += tensor.count();
    return count;
}

double credit_per_sample(const RunFile& run) {
    return run.flops_per_sample * 200.0 / 86'400e9;
}

}  // namespace dedloc::formats
