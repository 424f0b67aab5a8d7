// Exports of a run that trains a module. tests/integration/module_test.sh reads the module that an
// export writes; here dedloc_train is not beside the program.
#include <catch2/catch.hpp>

#include "peer/base/error.hpp"
#include "project_server/huggingface/model_card.hpp"
#include "project_server/runs/model_export.hpp"
#include "project_server/runs/module_run.hpp"
#include "tests/project_server/runs/stored_run.hpp"

namespace dedloc::runs {
namespace {

namespace fs = std::filesystem;

formats::ModuleSpec rows_module() {
    return {.name = "net.pt",
            .digest = blake2b(bytes_of("net")),
            .bytes = 3,
            .vocabulary = 0,
            .inputs = {{.type = formats::ElementType::kUint8, .shape = {3, 8, 8}},
                       {.type = formats::ElementType::kInt64, .shape = {}}},
            .flops = 1e6,
            .sample_bytes = 1'000};
}

formats::RunFile card_run(const formats::ModuleSpec& model) {
    formats::RunFile run;
    run.name = "own";
    run.model = model;
    run.sequence_length = model.vocabulary != 0 ? 16 : 0;
    run.tensors = {{.name = "head.weight",
                    .shape = {4, 16},
                    .initial = formats::Initial::kZero,
                    .deviation = 0,
                    .decays = true}};
    return run;
}

TEST_CASE("the card of a module says what it takes and how it loads", "[server]") {
    const std::string card =
        huggingface::write_model_card(card_run(rows_module()), {.step = StepIndex{3}, .state = {}},
                                      {{.loss = 1.25, .loss_error = 0.01, .samples = 100}});
    CHECK_THAT(card, Catch::Contains("The TorchScript module net.pt (64 parameters in 1 tensors)"));
    CHECK_THAT(card, Catch::Contains("uint8 [M, 3, 8, 8], then int64 [M]"));
    CHECK_THAT(card, Catch::Contains("torch.jit.load(\"FOLDER/module.pt\")"));
    CHECK_THAT(card, Catch::Contains("| loss | 1.2500 | 0.0100 | lower |"));
    CHECK_THAT(card, !Catch::Contains("AutoTokenizer") && !Catch::Contains("sequence length") &&
                         !Catch::Contains("nats") && !Catch::Contains("masked"));
    formats::ModuleSpec text = rows_module();
    text.inputs.clear();
    text.vocabulary = 100;
    CHECK_THAT(huggingface::write_model_card(card_run(text), {}, {}),
               Catch::Contains("token ids, int64 [M, 16]") && Catch::Contains("AutoTokenizer"));
}

TEST_CASE("without dedloc_train no module is read or written", "[server]") {
    const TemporaryDirectory out;
    CHECK_THROWS_WITH(describe_module({.module = out.path() / "net.pt", .shard = {}}),
                      Catch::StartsWith("there is no ") &&
                          Catch::EndsWith("/dedloc_train, which reads and writes modules"));
    StoredRun stored{rows_module()};
    stored.step();
    stored.save();
    stored.step();
    const fs::path folder = out.path() / "model";
    CHECK_THROWS_WITH(export_model({.project = stored.project(),
                                    .run = "small",
                                    .folder = folder,
                                    .step = {},
                                    .checkpoint = {},
                                    .progress = {}}),
                      Catch::Contains("which reads and writes modules"));
    CHECK_FALSE(fs::exists(folder));
}

}  // namespace
}  // namespace dedloc::runs
