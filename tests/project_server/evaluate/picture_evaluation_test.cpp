// A run of pictures in a folder: its states are measured, and the statistics of their batch norms
// are written for the export.
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "peer/base/error.hpp"
#include "peer/formats/figures.hpp"
#include "peer/formats/picture_labels.hpp"
#include "peer/formats/picture_shard.hpp"
#include "peer/formats/task.hpp"
#include "peer/platform/files.hpp"
#include "project_server/evaluate/by_hand.hpp"
#include "project_server/evaluate/state_evaluator.hpp"
#include "project_server/huggingface/norm_file.hpp"
#include "tests/boinc_app/figure_of.hpp"
#include "tests/boinc_app/pictures/made_jpeg.hpp"
#include "tests/small_run.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::evaluate {
namespace {

namespace fs = std::filesystem;

/// Dark and light pictures with noise.
pictures::Picture noisy(bool is_light, Random& random) {
    pictures::Picture picture{.width = 20, .height = 18};
    for (std::uint32_t i = 0; i < 3 * picture.width * picture.height; ++i) {
        picture.rgb.push_back(static_cast<std::uint8_t>((is_light ? 130 : 20) + random.below(90)));
    }
    return picture;
}

/// A folder of a run of pictures, as a project has it.
class PictureRun {
  public:
    PictureRun() {
        for (const char* const name : {"held_out", "shards"}) {
            fs::create_directory(folder() / name);
        }
        run_ = tests::small_run();
        run_.model = formats::SwavSpec{.trunk = {.has_bottlenecks = false,
                                                 .blocks = {1, 1},
                                                 .width = 8,
                                                 .has_small_stem = true},
                                       .hidden = 16,
                                       .projection = 8,
                                       .prototypes = 10,
                                       .crops = {{.size = 14, .count = 2}, {.size = 8, .count = 1}},
                                       .colours = {},
                                       .micro_batch = 8};
        run_.sequence_length = 0;
        run_.special_tokens = {};
        run_.target_batch = 16;
        run_.tensors = formats::tensors_of(run_);
        run_.flops_per_sample = formats::flops_per_sample(run_);
        run_.shards.clear();
        add("first", 24, false);
        add("second", 24, false);
        add("third", 20, true);
        run_ = formats::parse_run_file(formats::write_run_file(run_));
    }

    const fs::path& folder() const { return folder_.path(); }
    const formats::RunFile& run() const { return run_; }
    EvaluatorOptions options() const {
        return {.folders = {.held_out = folder() / "held_out", .shards = folder() / "shards"},
                .norms = folder() / "norms",
                .samples = 16};
    }
    std::string refusal() const {
        try {
            (void)open_evaluator(run_, options());
        } catch (const InputError& error) {
            return error.what();
        }
        return "opened";
    }

  private:
    void add(const std::string& name, std::size_t count, bool is_held_out) {
        Random random{count + name.size()};
        formats::PictureShardBuilder builder;
        std::vector<std::uint16_t> labels;
        for (std::size_t i = 0; i < count; ++i) {
            labels.push_back(static_cast<std::uint16_t>(i % 2));
            builder.add(tests::made_jpeg(noisy(i % 2 == 1, random)));
        }
        const formats::PictureShard shard = std::move(builder).finish();
        const Digest digest = blake2b(shard.file);
        const fs::path place = folder() / (is_held_out ? "held_out" : "shards");
        platform::replace_file(place / name, shard.file);
        platform::replace_file(
            place / ("labels-" + digest.hex().substr(0, 16)),
            formats::encode_picture_labels(
                {.shard = digest, .classes = {"dark", "light"}, .labels = labels}));
        run_.shards.push_back({.name = name,
                               .digest = digest,
                               .bytes = shard.file.size(),
                               .is_held_out = is_held_out});
    }

    const TemporaryDirectory folder_;
    formats::RunFile run_;
};

TEST_CASE("a run of pictures is measured, and its batch norms' statistics are kept", "[server]") {
    const PictureRun world;
    const auto evaluator = open_evaluator(world.run(), world.options());
    const LoadedState first = load_initial(world.run());
    CHECK_FALSE(evaluator->evaluate(first, [] { return true; }));
    CHECK_FALSE(fs::exists(world.options().norms));
    const auto figures = evaluator->evaluate(first, {});
    REQUIRE(figures);
    for (const auto& kind : formats::figures_of("swav")) {
        CHECK(std::isfinite(figure_of(*figures, kind.name).value));
    }
    CHECK(figure_of(*figures, "knn_accuracy").value > 0.8);
    CHECK(figures->samples == 16);
    const auto& task = std::get<formats::SwavSpec>(world.run().model);
    const auto norms = huggingface::read_norm_file(
        world.options().norms / huggingface::norm_file_name(*first.digest), task);
    CHECK(norms.run == formats::run_id(world.run()));
    CHECK(norms.state == *first.digest);
    CHECK(norms.step == StepIndex{0});
    CHECK(norms.pictures == 48);
    CHECK(norms.batch == 8);
    CHECK(norms.norms.front().variance.front() > 0);

    const HandReport report{.run = world.run(),
                            .state = first,
                            .proof = {.clause = "not checked against a ledger"},
                            .figures = *figures,
                            .seconds = 2.5,
                            .threads = 1};
    CHECK_THAT(report_text(report), Catch::Contains("(guessing: ln K = 2.3026)") &&
                                        Catch::Contains("  untrained linear accuracy       ") &&
                                        Catch::Contains("  pictures learnt                 48") &&
                                        !Catch::Contains("nan"));
    CHECK_THAT(report_json(report), Catch::Contains(R"("prototypes_used_error":null)") &&
                                        Catch::Contains(R"("knn_accuracy":)"));

    LoadedState unknown = first;
    unknown.digest.reset();
    fs::remove_all(world.options().norms);
    CHECK(measured_figures(*evaluator->evaluate(unknown, {})) == measured_figures(*figures));
    CHECK_FALSE(fs::exists(world.options().norms));
}

TEST_CASE("without labels or pictures to train on less is measured", "[server]") {
    const PictureRun world;
    EvaluatorOptions options = world.options();
    for (const auto& file : fs::directory_iterator{options.folders.held_out}) {
        if (file.path().filename() != "third") fs::remove(file.path());
    }
    const LoadedState first = load_initial(world.run());
    CHECK(open_evaluator(world.run(), options)->evaluate(first, {})->figures.size() == 5);
    CHECK(fs::exists(options.norms));
    fs::remove_all(options.norms);
    options.folders.shards.clear();
    CHECK(open_evaluator(world.run(), options)->evaluate(first, {})->figures.size() == 5);
    CHECK_FALSE(fs::exists(options.norms));
}

TEST_CASE("damaged pictures and labels are one sentence", "[server]") {
    const PictureRun world;
    const fs::path shard = world.folder() / "held_out" / "third";
    const std::string bytes = platform::read_text(shard);
    std::string altered = bytes;
    altered.back() = static_cast<char>(altered.back() ^ 1);
    platform::replace_file(shard, altered);
    CHECK_THAT(world.refusal(), Catch::EndsWith("third is not the held-out shard of run " +
                                                world.run().name + ": it is altered"));
    platform::replace_file(shard, bytes.substr(1));
    CHECK_THAT(world.refusal(), Catch::EndsWith("it is cut off or another file"));
    platform::replace_file(shard, bytes);
    CHECK(world.refusal() == "opened");
    platform::replace_file(world.folder() / "held_out" / "labels-x", "no labels");
    CHECK_THAT(world.refusal(),
               Catch::Contains("the labels ") && Catch::Contains("labels-x cannot be used: "));
}

}  // namespace
}  // namespace dedloc::evaluate
