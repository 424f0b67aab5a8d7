// A run of a module in a run file: it reads back equal, with text, pictures or tensors, and other
// input is refused in one sentence.
#include <catch2/catch.hpp>
#include <string>

#include "peer/base/error.hpp"
#include "peer/formats/task.hpp"
#include "peer/formats/training_memory.hpp"
#include "tests/small_run.hpp"

namespace dedloc::formats {
namespace {

RunFile tensor_run() {
    RunFile run = tests::small_run();
    run.model = ModuleSpec{.name = "convnet.pt",
                           .digest = blake2b({}),
                           .bytes = 47'828,
                           .vocabulary = 0,
                           .inputs = {{.type = ElementType::kUint8, .shape = {3, 8, 8}},
                                      {.type = ElementType::kInt64, .shape = {}}},
                           .flops = 3e6,
                           .sample_bytes = 200'000};
    run.sequence_length = 0;
    run.special_tokens = {};
    run.flops_per_sample = flops_per_sample(run);
    return run;
}

RunFile window_run() {
    RunFile run = tensor_run();
    auto& model = std::get<ModuleSpec>(run.model);
    model.inputs.clear();
    model.vocabulary = 60;
    run.sequence_length = 16;
    run.special_tokens = tests::small_run().special_tokens;
    return run;
}

RunFile square_run() {
    RunFile run = tensor_run();
    auto& model = std::get<ModuleSpec>(run.model);
    model.picture_side = 24;
    model.inputs = picture_inputs(24);
    return run;
}

std::string refusal_of_module(const RunFile& run, const std::string& from, const std::string& to) {
    std::string json = write_run_file(run);
    const std::size_t at = json.find(from);
    REQUIRE(at != std::string::npos);
    try {
        (void)parse_run_file(json.replace(at, from.size(), to));
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

TEST_CASE("a run of a module reads back equal", "[wire]") {
    for (const RunFile& run : {tensor_run(), square_run(), window_run()}) {
        const std::string json = write_run_file(run);
        CHECK(parse_run_file(json) == run);
        CHECK(write_run_file(parse_run_file(json)) == json);
        CHECK(architecture_of(run) == "module");
        CHECK(samples_together(run) == 1);
        CHECK(tensors_of(run) == run.tensors);
        CHECK(flops_per_sample(run) == 3e6);
        CHECK(activation_bytes(run, {}) == 200'000);
        CHECK(trainer_machine_bytes(run, 0) > 200'000);
    }
    CHECK(shard_kind_of(tensor_run()) == ShardKind::kTensors);
    CHECK(shard_kind_of(square_run()) == ShardKind::kPictures);
    CHECK(write_run_file(square_run()).find("inputs") == std::string::npos);
    CHECK_FALSE(holds_text(square_run()));
    CHECK_FALSE(holds_text(tensor_run()));
    CHECK(write_run_file(tensor_run()).find("sequence_length") == std::string::npos);
    CHECK(holds_text(window_run()));
    CHECK(vocabulary_of(window_run()) == 60);
    CHECK_FALSE(run_id(tensor_run()) == run_id(window_run()));
    RunFile other = tensor_run();
    std::get<ModuleSpec>(other.model).digest.bytes[0] ^= std::byte{1};
    CHECK_FALSE(run_id(other) == run_id(tensor_run()));
}

TEST_CASE("bad fields of a module are refused", "[wire]") {
    using Catch::Matchers::Contains;
    const RunFile run = tensor_run();
    const auto refused = [&run](const std::string& from, const std::string& to) {
        return refusal_of_module(run, from, to);
    };
    CHECK_THAT(refused(R"("file":"convnet.pt")", R"("file":"../convnet.pt")"),
               Contains("model.file") && Contains("must be a file name"));
    CHECK_THAT(refused(R"("file":"convnet.pt")", R"("file":".convnet.pt")"),
               Contains("model.file"));
    CHECK_THAT(refused(R"("bytes":47828)", R"("bytes":0)"), Contains("model.bytes"));
    CHECK_THAT(refused(R"("type":"uint8")", R"("type":"int8")"),
               Contains("must be 'float32', 'int64' or 'uint8'"));
    CHECK_THAT(refused(R"("shape":[3,8,8])", R"("shape":[3,0,8])"), Contains("at least 1"));
    CHECK_THAT(refused(R"("shape":[3,8,8])", R"("shape":[3,1073741824])"),
               Contains("is too large"));
    CHECK_THAT(refused(R"("flops":3000000.0)", R"("flops":0.0)"), Contains("model.flops"));
    CHECK_THAT(refused(R"("sample_bytes":200000)", R"("sample_bytes":0)"),
               Contains("model.sample_bytes"));
    CHECK_THAT(refused(R"("flops":3000000.0)", R"("flops":3000000.0,"loops":1)"),
               Contains("loops"));
    CHECK_THAT(refused(R"("architecture":"module")", R"("architecture":"script")"),
               Contains("must be 'albert', 'swav' or 'module'"));
    for (const char* const side : {"0", "1025", "-1", "24.5"}) {
        CHECK_THAT(refusal_of_module(square_run(), R"("picture_side":24)",
                                     std::string{R"("picture_side":)"} + side),
                   Contains("model.picture_side"));
    }
    CHECK_THAT(
        refusal_of_module(square_run(), R"("picture_side":24)", R"("picture_side":24,"inputs":[])"),
        Contains("inputs"));
    CHECK_THAT(refusal_of_module(window_run(), R"("vocabulary":60)", R"("vocabulary":70000)"),
               Contains("model.vocabulary"));
}

}  // namespace
}  // namespace dedloc::formats
