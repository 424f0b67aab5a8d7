// A run of SwAV in a run file: it reads back equal, text has no place in it, and other input is
// refused in one sentence.
#include <catch2/catch.hpp>
#include <string>

#include "peer/base/error.hpp"
#include "peer/formats/task.hpp"
#include "peer/formats/training_memory.hpp"
#include "tests/small_run.hpp"

namespace dedloc::formats {
namespace {

RunFile picture_run() {
    RunFile run = tests::small_run();
    run.model = SwavSpec{.trunk = {.has_bottlenecks = false,
                                   .blocks = {1, 1, 1},
                                   .width = 16,
                                   .has_small_stem = true},
                         .hidden = 64,
                         .projection = 32,
                         .prototypes = 30,
                         .crops = {{.size = 28, .count = 2, .min_area = 0.2, .max_area = 1},
                                   {.size = 18, .count = 2, .min_area = 0.08, .max_area = 0.4}},
                         .colours = {},
                         .queue = 96,
                         .queue_from_step = 7,
                         .frozen_steps = 3,
                         .micro_batch = 32};
    run.sequence_length = 0;
    run.special_tokens = {};
    run.target_batch = 96;
    run.tensors = tensors_of(run);
    run.flops_per_sample = flops_per_sample(run);
    return run;
}

std::string refusal(const std::string& from, const std::string& to) {
    std::string json = write_run_file(picture_run());
    const std::size_t at = json.find(from);
    REQUIRE(at != std::string::npos);
    try {
        (void)parse_run_file(json.replace(at, from.size(), to));
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

TEST_CASE("a run of SwAV reads back equal, without fields of text", "[wire]") {
    const RunFile run = picture_run();
    const std::string json = write_run_file(run);
    CHECK(parse_run_file(json) == run);
    CHECK(write_run_file(parse_run_file(json)) == json);
    CHECK(json.find("sequence_length") == std::string::npos);
    CHECK(json.find("special_tokens") == std::string::npos);
    CHECK(architecture_of(run) == "swav");
    CHECK_FALSE(holds_text(run));
    CHECK(samples_together(run) == 32);
    RunFile other = run;
    std::get<SwavSpec>(other.model).colours.gray = 0.25;
    CHECK(run_id(other) != run_id(run));
}

TEST_CASE("a run of SwAV that cannot be is refused in one sentence", "[wire]") {
    using Catch::Contains;
    CHECK_THAT(refusal(R"("architecture":"swav")", R"("architecture":"byol")"),
               Contains("must be 'albert', 'swav' or 'module'"));
    CHECK_THAT(refusal(R"("prototypes":30)", R"("prototypes":1)"), Contains("prototypes is 1"));
    CHECK_THAT(refusal(R"("blocks":[1,1,1])", R"("blocks":[1,-1,1])"), Contains("whole numbers"));
    CHECK_THAT(refusal(R"("blocks":[1,1,1])", R"("blocks":[1,0,1])"),
               Contains("trunk.blocks is 0"));
    CHECK_THAT(refusal(R"("count":2)", R"("count":1)"), Contains("at least 2 crops"));
    CHECK_THAT(refusal(R"("temperature":0.1)", R"("temperature":0)"), Contains("temperature"));
    CHECK_THAT(refusal(R"("target_batch":96)", R"("target_batch":100)"),
               Contains("'target_batch' must be a multiple of 32"));
    CHECK_THAT(refusal(R"("steps")", R"("sequence_length":64,"steps")"),
               Contains("sequence_length"));
    CHECK_THAT(refusal(R"("mean":[0.485,0.456,0.406])", R"("mean":[0.485,0.456])"),
               Contains("mean"));
}

TEST_CASE("a trainer of SwAV needs memory for a whole micro-batch", "[wire]") {
    RunFile run = picture_run();
    const std::uint64_t small = trainer_machine_bytes(run, 0);
    const std::uint64_t picture = activation_bytes(run, {});
    std::get<SwavSpec>(run.model).micro_batch = 64;
    CHECK(trainer_machine_bytes(run, 0) - small == 32 * picture);
    CHECK(activation_bytes(run, {.is_reduced = true}) < picture);
}

}  // namespace
}  // namespace dedloc::formats
