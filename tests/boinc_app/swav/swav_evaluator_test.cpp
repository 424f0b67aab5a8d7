// Evaluations of tiny networks on pictures of two classes: gray vertical stripes, and red pictures
// with horizontal ones.
#include "boinc_app/swav/swav_evaluator.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "peer/base/error.hpp"
#include "peer/formats/evaluation_crop.hpp"
#include "tests/boinc_app/figure_of.hpp"
#include "tests/boinc_app/pictures/made_jpeg.hpp"
#include "tests/boinc_app/swav/tiny_swav.hpp"

using namespace dedloc;
using swav::LabelledShard;
using swav::PicturePlace;
using swav::SwavEvaluator;

namespace {

constexpr std::uint16_t kGray = 0;
constexpr std::uint16_t kRed = 1;

pictures::Picture striped(std::uint16_t label, Random& random) {
    pictures::Picture picture{.width = 26, .height = 22};
    const std::uint64_t phase = random.below(8);
    const std::uint64_t light = 90 + random.below(60);
    for (std::uint32_t y = 0; y < picture.height; ++y) {
        for (std::uint32_t x = 0; x < picture.width; ++x) {
            const std::uint64_t at = (label == kGray ? x : y) + phase;
            const auto value =
                static_cast<std::uint8_t>(light + 60 * (at / 4 % 2) + random.below(40));
            const auto other = static_cast<std::uint8_t>(label == kGray ? value : value / 2);
            picture.rgb.insert(picture.rgb.end(), {value, other, other});
        }
    }
    return picture;
}

/// A shard of pictures of these classes.
LabelledShard shard_of(const std::string& name, const std::vector<std::uint16_t>& labels,
                       std::uint64_t seed) {
    Random random{seed};
    formats::PictureShardBuilder builder;
    for (const std::uint16_t label : labels) {
        builder.add(tests::made_jpeg(striped(label == kRed ? kRed : kGray, random)));
    }
    return {.name = name,
            .pictures = std::move(builder).finish(),
            .labels =
                formats::PictureLabels{.shard = {}, .classes = {"gray", "red"}, .labels = labels}};
}

/// `count` pictures, of both classes in turn.
LabelledShard mixed_shard(const std::string& name, std::size_t count, std::uint64_t seed) {
    std::vector<std::uint16_t> labels;
    for (std::size_t i = 0; i < count; ++i) labels.push_back(i % 2 == 0 ? kGray : kRed);
    return shard_of(name, labels, seed);
}

std::vector<LabelledShard> without_labels(std::vector<LabelledShard> shards) {
    for (LabelledShard& shard : shards) shard.labels.reset();
    return shards;
}

formats::SwavSpec small_task() {
    formats::SwavSpec task = test::tiny_task();
    task.micro_batch = 16;
    return task;
}

/// A run with pictures to train on and held-out ones.
struct World {
    formats::SwavSpec task = small_task();
    formats::RunFile run = test::swav_run(task);
    AlignedFloats start = test::swav_start(run);
    std::vector<LabelledShard> training{mixed_shard("first", 50, 1), mixed_shard("second", 30, 2)};
    std::vector<LabelledShard> held_out{mixed_shard("held-out", 60, 3)};

    swav::SwavEvaluationOptions options() const {
        return {.samples = 40, .learnt = 60, .norm_pictures = 40};
    }
    SwavEvaluator evaluator() const { return SwavEvaluator{run, training, held_out, options()}; }
};

std::uint64_t count_of(const training::Evaluation& evaluation, const std::string& name) {
    for (const training::Count& count : evaluation.counts) {
        if (count.name == name) return count.value;
    }
    return 0;
}

}  // namespace

TEST_CASE("pictures are chosen evenly from all classes", "[training]") {
    const std::vector<LabelledShard> shards{
        shard_of("a", {kGray, kGray, kGray, formats::kNoClass, kRed}, 1),
        without_labels({mixed_shard("b", 3, 2)}).front(), shard_of("c", {kGray, kRed, kRed}, 3)};
    const auto four = swav::choose_evenly(shards, 4);
    REQUIRE(four.places == std::vector<PicturePlace>{{0, 0}, {0, 1}, {0, 4}, {2, 1}});
    REQUIRE(four.labels == std::vector<std::uint16_t>{kGray, kGray, kRed, kRed});
    REQUIRE(swav::choose_evenly(shards, 3).places ==
            std::vector<PicturePlace>{{0, 0}, {0, 1}, {0, 4}});
    REQUIRE(swav::choose_evenly(shards, 100).places.size() == 7);
    REQUIRE(swav::choose_evenly(without_labels(shards), 4).places.empty());
    REQUIRE(swav::first_pictures(shards, 6).back() == PicturePlace{1, 0});
    REQUIRE(swav::first_pictures(shards, 100).size() == 11);
}

TEST_CASE("the middle of a picture is taken as is usual for its network", "[training]") {
    formats::SwavSpec task;
    REQUIRE(formats::evaluation_crop(task) ==
            formats::EvaluationCrop{.shorter_side = 256, .size = 224});
    task.crops.front().size = 32;
    task.trunk.has_small_stem = true;
    REQUIRE(formats::evaluation_crop(task) ==
            formats::EvaluationCrop{.shorter_side = 32, .size = 32});
}

TEST_CASE("an evaluation has all figures of its task", "[training]") {
    const World world;
    auto evaluator = world.evaluator();
    REQUIRE(evaluator.has_classes());
    REQUIRE(evaluator.measure_untrained(world.start));
    const auto measured = evaluator.evaluate(world.start);
    const training::Evaluation& figures = measured->figures;
    const auto kinds = formats::figures_of("swav");
    REQUIRE(figures.figures.size() == kinds.size());
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        REQUIRE(figures.figures[i].name == kinds[i].name);
    }
    const auto value = [&](const char* name) { return figure_of(figures, name); };
    // Stripes and colours survive a random network: far above chance, which is ½.
    REQUIRE(value("knn_accuracy").value > 0.8);
    REQUIRE(value("linear_accuracy").value > 0.8);
    REQUIRE(value("knn_accuracy") == value("untrained_knn_accuracy"));
    REQUIRE(value("linear_accuracy") == value("untrained_linear_accuracy"));
    const double uniform = std::log(static_cast<double>(world.task.prototypes));
    REQUIRE(value("below_uniform").value == Approx(uniform - figures.loss.value));
    REQUIRE(figures.loss.value > 0);
    REQUIRE(figures.loss.error > 0);
    REQUIRE(value("assignment_entropy").value > 0.8);
    REQUIRE(value("assignment_entropy").value <= 1 + 1e-9);
    REQUIRE(std::isnan(value("assignment_entropy").error));
    REQUIRE(value("prototypes_used").value >= 1);
    REQUIRE(value("prototypes_used").value <= 12);
    // Whole micro-batches of 16, of 40 pictures asked for.
    REQUIRE(figures.samples == 32);
    REQUIRE(count_of(figures, "pictures_of_the_statistics") == 32);
    REQUIRE(count_of(figures, "pictures_learnt") == 60);
    REQUIRE(count_of(figures, "pictures_tested") == 40);
    REQUIRE(measured->norms.pictures == 32);
    REQUIRE(measured->norms.batch == 16);
    REQUIRE(measured->norms.norms.size() == formats::convolutions(world.task.trunk).size() + 1);
    REQUIRE(measured->norms.list != Digest{});

    SECTION("again, by another evaluator, with the same bits") {
        auto other = world.evaluator();
        const auto without_untrained = other.evaluate(world.start);
        REQUIRE(without_untrained->figures.figures.size() == kinds.size() - 2);
        REQUIRE(other.measure_untrained(world.start));
        const auto again = other.evaluate(world.start);
        REQUIRE(again->figures.loss == figures.loss);
        REQUIRE(measured_figures(again->figures) == measured_figures(figures));
        REQUIRE(again->norms.list == measured->norms.list);
        REQUIRE(again->norms.norms.front().mean == measured->norms.norms.front().mean);
    }
    SECTION("another state keeps the untrained network's figures") {
        AlignedFloats flat(world.start.size(), 0.0f);
        const auto collapsed = evaluator.evaluate(flat);
        const auto& all = collapsed->figures;
        REQUIRE(figure_of(all, "untrained_knn_accuracy") == value("knn_accuracy"));
        REQUIRE(figure_of(all, "knn_accuracy").value == Approx(0.5).margin(0.05));
        REQUIRE(std::abs(figure_of(all, "below_uniform").value) < 1e-4);
    }
}

TEST_CASE("without labels the loss and the assignments are measured", "[training]") {
    const World world;
    SwavEvaluator evaluator{world.run, without_labels(world.training),
                            without_labels(world.held_out), world.options()};
    REQUIRE_FALSE(evaluator.has_classes());
    REQUIRE(evaluator.measure_untrained(world.start));
    const auto measured = evaluator.evaluate(world.start);
    REQUIRE(measured->figures.figures.size() == 5);
    REQUIRE(measured->figures.figures.front().name == "below_uniform");
    REQUIRE(measured->figures.loss == world.evaluator().evaluate(world.start)->figures.loss);
    REQUIRE_FALSE(measured->norms.norms.empty());

    const SwavEvaluator alone{world.run, {}, world.held_out, world.options()};
    REQUIRE(alone.evaluate(world.start)->norms.norms.empty());
    REQUIRE(alone.evaluate(world.start)->figures.figures.size() == 5);
}

TEST_CASE("an evaluation of pictures ends when it is interrupted", "[training]") {
    const World world;
    auto evaluator = world.evaluator();
    int calls = 0;
    REQUIRE(evaluator.evaluate(world.start, [&] { return ++calls < 0; }));
    const int all = calls;
    REQUIRE(all > 200);
    for (const int last : {1, 20, all / 3, all / 2, all - 1}) {
        calls = 0;
        REQUIRE_FALSE(evaluator.evaluate(world.start, [&] { return ++calls >= last; }));
        REQUIRE(calls == last);
    }
    REQUIRE_FALSE(evaluator.measure_untrained(world.start, [] { return true; }));
    REQUIRE(evaluator.evaluate(world.start)->figures.figures.size() == 7);
}

TEST_CASE("pictures that cannot measure anything are refused", "[training]") {
    const World world;
    const auto refusal = [&](std::vector<LabelledShard> training,
                             std::vector<LabelledShard> held_out) -> std::string {
        try {
            const SwavEvaluator evaluator{world.run, std::move(training), std::move(held_out),
                                          world.options()};
            static_cast<void>(evaluator.evaluate(world.start));
        } catch (const InputError& error) {
            return error.what();
        }
        return "";
    };
    REQUIRE(refusal(world.training, {}) == "there is no picture");
    auto renamed = world.held_out;
    renamed.front().labels->classes = {"blue", "green"};
    REQUIRE(refusal(world.training, renamed) ==
            "the pictures to train on and the held-out ones have other classes");
    auto both = world.training;
    both.back().labels->classes = {"blue", "green"};
    REQUIRE(refusal(both, world.held_out) ==
            "the labels of the shards first and second have other classes");
    auto few = world.held_out;
    few.front().labels->labels.pop_back();
    REQUIRE(refusal(world.training, few) ==
            "the shard held-out has 60 pictures, but its labels are for 59");
    formats::PictureShardBuilder builder;
    for (int i = 0; i < 3; ++i) builder.add(bytes_of("no picture"));
    auto broken = world.held_out;
    broken.front().pictures = std::move(builder).finish();
    broken.front().labels.reset();
    REQUIRE(refusal(world.training, broken).starts_with("picture 0 of shard 0 cannot be used: "));
}
