#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <thread>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/formats/added_source.hpp"
#include "project_server/backbone/run_files.hpp"
#include "project_server/huggingface/albert_config.hpp"
#include "project_server/huggingface/model_card.hpp"
#include "project_server/huggingface/safetensors.hpp"
#include "project_server/runs/checkpoints.hpp"
#include "project_server/runs/model_export.hpp"
#include "tests/file_size_limit.hpp"
#include "tests/project_server/runs/stored_run.hpp"
#include "tests/small_run.hpp"

namespace dedloc::runs {
namespace {

namespace fs = std::filesystem;
using huggingface::SafetensorsFile;

ExportOptions options_for(const StoredRun& stored, const fs::path& folder) {
    return {.project = stored.project(),
            .run = "small",
            .folder = folder,
            .step = {},
            .checkpoint = {},
            .progress = {}};
}

/// The parameters in the file, as they are in the flat vector.
FloatVector parameters_in(const fs::path& folder, const formats::RunFile& run) {
    const SafetensorsFile file{folder / "model.safetensors"};
    FloatVector parameters(formats::element_count(run));
    const auto ranges = backbone::parameter_ranges(run);
    REQUIRE(file.header().tensors.size() == run.tensors.size());
    for (std::size_t t = 0; t < ranges.size(); ++t) {
        const auto* const tensor = file.find(run.tensors[t].name);
        REQUIRE(tensor != nullptr);
        CHECK(tensor->shape == run.tensors[t].shape);
        CHECK(tensor->type == "F32");
        file.read(*tensor,
                  std::span{parameters}.subspan(ranges[t].begin / sizeof(float),
                                                (ranges[t].end - ranges[t].begin) / sizeof(float)));
    }
    return parameters;
}

bool are_same_bits(std::span<const float> a, std::span<const float> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

std::vector<std::string> names_in(const fs::path& folder) {
    std::vector<std::string> names;
    for (const auto& item : fs::directory_iterator{folder}) {
        names.push_back(item.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
}

const std::vector<std::string> kFiles{"README.md",    "config.json",    "model.safetensors",
                                      "spiece.model", "tokenizer.json", "tokenizer_config.json"};

TEST_CASE("an export has the proven state's parameters, bit for bit", "[server]") {
    StoredRun stored;
    const TemporaryDirectory out;
    stored.step();
    stored.save();
    stored.step();
    const FloatVector expected{stored.state().parameters().begin(),
                               stored.state().parameters().end()};
    const Digest digest = stored.state().digest();
    stored.save();
    stored.step();
    stored.save();  // the last state, which the ledger does not prove yet
    const fs::path folder = out.path() / "model";
    const ExportedModel model = export_model(options_for(stored, folder));
    CHECK(model.step == StepIndex{2});
    CHECK(model.state == digest);
    CHECK(model.samples == 80);
    CHECK(names_in(folder) == kFiles);
    CHECK(are_same_bits(parameters_in(folder, stored.run()), expected));
    const SafetensorsFile file{folder / "model.safetensors"};
    CHECK(file.header().metadata.at("format") == "pt");
    CHECK(huggingface::read_albert_config("config.json",
                                          platform::read_text(folder / "config.json")) ==
          formats::albert_of(stored.run()));
    CHECK(platform::read_text(folder / "spiece.model") == small_tokenizer());
    const std::string card = platform::read_text(folder / "README.md");
    CHECK_THAT(card, Catch::Contains("| steps | 2 of 1000 |"));
    CHECK_THAT(card, Catch::Contains("| samples | 80 |"));
    CHECK_THAT(card, Catch::Contains("| contributors | 3 |"));
    CHECK_THAT(card, Catch::Contains(digest.hex()));
    CHECK_THAT(card, Catch::Contains(formats::run_id(stored.run()).hex()));
    auto earlier = options_for(stored, out.path() / "earlier");
    earlier.step = StepIndex{1};
    CHECK(export_model(earlier).step == StepIndex{1});
}

TEST_CASE("a model's card has the figures of its task, if they were measured", "[server]") {
    const formats::RunFile run = tests::small_run();
    const huggingface::Measurement measured{
        .loss = 6.25,
        .loss_error = 0.125,
        .figures = {{.name = "order_accuracy", .value = 0.5},
                    {.name = "masked_loss", .value = 5.5},
                    {.name = "masked_accuracy", .value = 0.25, .error = 0.0625}},
        .samples = 64};
    CHECK_THAT(
        huggingface::write_model_card(run, {}, measured),
        Catch::Contains("on 64 samples of text that no volunteer trained on.\n\n"
                        "| figure | value | standard error | better is |\n|---|---|---|---|\n"
                        "| loss | 6.2500 nats | 0.1250 | lower |\n"
                        "| loss of masked tokens | 5.5000 nats |  | lower |\n"
                        "| masked tokens right | 25.00 % | 6.25 % | higher |\n"
                        "| sentence orders right | 50.00 % |  | higher |\n\n"));
    CHECK_THAT(huggingface::write_model_card(run, {}, {}), !Catch::Contains("## Measured"));
}

TEST_CASE("a model's card has the sources of its samples, with their licences", "[server]") {
    formats::RunFile run = tests::small_run();
    CHECK_THAT(huggingface::write_model_card(run, {}, {}), !Catch::Contains("## Sources"));
    run.sources = {{"wiki", 1, "CC BY-SA 4.0"}, {"web", 3, ""}};
    formats::add_source(run, {.name = "hindi",
                              .licence = "as|is",
                              .shards = {{.name = "h", .digest = blake2b({}), .bytes = 1}}});
    const huggingface::Measurement measured{
        .loss = 6.25,
        .figures = {{.name = "loss_of_hindi", .value = 7.5, .error = 0.5}},
        .samples = 64};
    const std::string card = huggingface::write_model_card(run, {}, measured);
    CHECK_THAT(card, Catch::Contains("| wiki | 25.0 % | CC BY-SA 4.0 |\n"
                                     "| web | 75.0 % | not said |\n"
                                     "| hindi | added in mid-run | as\\|is |\n"));
    CHECK_THAT(card, Catch::Contains("| loss of hindi | 7.5000 nats | 0.5000 | lower |\n"));
}

TEST_CASE("a checkpoint from elsewhere is exported, and the card says whether it is proven",
          "[server]") {
    StoredRun stored;
    const TemporaryDirectory out;
    stored.step();
    const fs::path file = out.path() / "own.state";
    fs::copy_file(stored.save(), file);
    const FloatVector expected{stored.state().parameters().begin(),
                               stored.state().parameters().end()};
    auto options = options_for(stored, out.path() / "unproven");
    options.checkpoint = file;
    const ExportedModel unproven = export_model(options);
    CHECK_FALSE(unproven.is_proven);
    CHECK(unproven.step == StepIndex{1});
    CHECK(unproven.state == stored.state().digest());
    CHECK(unproven.samples == 0);
    CHECK(names_in(options.folder) == kFiles);
    CHECK(are_same_bits(parameters_in(options.folder, stored.run()), expected));
    const std::string card = platform::read_text(options.folder / "README.md");
    CHECK_THAT(card, Catch::Contains("## Not proven") && Catch::Contains("| steps | 1 of 1000 |"));
    CHECK_THAT(card, !Catch::Contains("contributors") &&
                         !Catch::Contains("volunteers' computers") &&
                         !Catch::Contains("## Verify"));

    stored.step();  // its record has the state's digest
    options.folder = out.path() / "proven";
    const ExportedModel proven = export_model(options);
    CHECK(proven.is_proven);
    CHECK(proven.samples == 40);
    CHECK_THAT(platform::read_text(options.folder / "README.md"),
               Catch::Contains("| contributors | 2 |") && Catch::Contains("## Verify it"));

    fs::remove(stored.folder() / "ledger");
    options.folder = out.path() / "without a ledger";
    CHECK_FALSE(export_model(options).is_proven);

    options.folder = out.path() / "damaged";
    platform::replace_file(file, platform::read_text(file) + "x");
    CHECK_THROWS_WITH(export_model(options), Catch::Contains("is a checkpoint of 3 vectors"));
    Buffer bytes = platform::read_file(file, 1 << 20);
    bytes.pop_back();
    bytes.back() ^= std::byte{1};
    platform::replace_file(file, bytes);
    CHECK_THROWS_WITH(export_model(options), Catch::Contains("is damaged"));
    platform::replace_file(file, "text");
    CHECK_THROWS_WITH(export_model(options), Catch::Contains("is not a checkpoint"));
    CHECK_FALSE(fs::exists(options.folder));
}

TEST_CASE("a failed export leaves nothing", "[server]") {
    start_log("test", LogLevel::kError);
    StoredRun stored;
    const TemporaryDirectory out;
    auto options = options_for(stored, out.path() / "model");
    stored.step();
    const fs::path first = stored.save();
    const auto fails = [&](const std::string& reason) {
        CHECK_THROWS_WITH(export_model(options), Catch::Contains(reason));
        CHECK(names_in(out.path()).empty());
    };
    fails("has no checkpoint that its ledger proves yet");
    stored.step();
    SECTION("a step without a checkpoint") {
        options.step = StepIndex{2};
        fails("no checkpoint of step 2");
    }
    SECTION("every checkpoint damaged") {
        std::fstream file{first, std::ios::binary | std::ios::in | std::ios::out};
        file.seekp(500);
        file.put('x');
        file.close();
        fails("has no checkpoint that its ledger proves");
    }
    SECTION("a full disk") {
        for (const rlim_t bytes : {0u, 100u, 1'000u, 10'000u}) {
            const FileSizeLimit full{bytes};
            fails("cannot write");
        }
        export_model(options);
    }
    SECTION("a tokenizer of another size") {
        const std::vector<std::string> sentences(500,
                                                 "Many words of which each one is a sentence.");
        platform::replace_file(stored.folder() / "tokenizer.model",
                               corpus::train_tokenizer(sentences, 25));
        fails("has 25 pieces, and the run's model 100");
    }
    SECTION("no tokenizer") {
        platform::replace_file(stored.folder() / "tokenizer.model", "not a model");
        fails("not a SentencePiece model");
    }
    SECTION("a folder that has something in it") {
        const fs::path full = out.path() / "model";
        fs::create_directory(full);
        std::ofstream{full / "mine"} << "kept";
        CHECK_THROWS_WITH(export_model(options), Catch::Contains("exists already"));
        CHECK(names_in(full) == std::vector<std::string>{"mine"});
        CHECK(names_in(out.path()) == std::vector<std::string>{"model"});
    }
}

TEST_CASE("a damaged checkpoint is passed over for the one before", "[server]") {
    start_log("test", LogLevel::kError);
    StoredRun stored;
    const TemporaryDirectory out;
    stored.step();
    stored.save();
    stored.step();
    const fs::path second = stored.save();
    stored.step();
    {
        std::fstream file{second, std::ios::binary | std::ios::in | std::ios::out};
        file.seekp(-3, std::ios::end);
        file.put('x');
    }
    CHECK(export_model(options_for(stored, out.path() / "model")).step == StepIndex{1});
}

TEST_CASE("a run that trains on can be exported at any moment", "[server]") {
    StoredRun stored{16, 2};
    const TemporaryDirectory out;
    std::map<Digest, FloatVector> states;
    const auto train = [&] {
        stored.step();
        states[stored.state().digest()] = {stored.state().parameters().begin(),
                                           stored.state().parameters().end()};
        stored.save();
    };
    train();
    train();
    std::atomic<bool> is_over = false;
    std::vector<Digest> exported;
    std::thread reader{[&] {
        for (int i = 0; i < 12; ++i) {
            const fs::path folder = out.path() / std::to_string(i);
            exported.push_back(export_model(options_for(stored, folder)).state);
        }
        is_over = true;
    }};
    while (!is_over) train();
    reader.join();
    REQUIRE(exported.size() == 12);
    for (std::size_t i = 0; i < exported.size(); ++i) {
        const auto parameters = parameters_in(out.path() / std::to_string(i), stored.run());
        CHECK(are_same_bits(parameters, states.at(exported[i])));
    }
    CHECK(states.size() > 2);
}

TEST_CASE("an export that is killed leaves no folder, and the next one cleans up", "[server]") {
    StoredRun stored{512};
    const TemporaryDirectory out;
    stored.step();
    stored.save();
    const FloatVector expected{stored.state().parameters().begin(),
                               stored.state().parameters().end()};
    stored.step();
    const auto options = options_for(stored, out.path() / "model");
    int killed = 0;
    for (int delay = 0; delay < 40 && killed < 20; ++delay) {
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            export_model(options);
            _exit(0);
        }
        const timespec pause{.tv_sec = 0, .tv_nsec = delay * 1'000'000};
        nanosleep(&pause, nullptr);
        kill(child, SIGKILL);
        int status = 0;
        waitpid(child, &status, 0);
        if (fs::exists(out.path() / "model")) {
            CHECK(names_in(out.path() / "model") == kFiles);
            CHECK(are_same_bits(parameters_in(out.path() / "model", stored.run()), expected));
            fs::remove_all(out.path() / "model");
        } else {
            ++killed;
        }
    }
    CHECK(killed > 0);
    export_model(options);
    CHECK(names_in(out.path()) == std::vector<std::string>{"model"});
    CHECK(names_in(out.path() / "model") == kFiles);
}

}  // namespace
}  // namespace dedloc::runs
