// One training: what it learns, that a seed decides it, early stopping, and interruption; rows of
// tokens; AdamW against numbers of torch.optim.AdamW.
#include "project_server/finetune/fine_tuning.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "boinc_app/training/task.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/albert_layout.hpp"
#include "peer/state/run_state.hpp"
#include "project_server/finetune/adam.hpp"

namespace dedloc::finetune {
namespace {

/// The ids of letters: a is 10.
std::vector<std::uint16_t> letters(std::string_view text) {
    std::vector<std::uint16_t> ids;
    for (const char c : text) ids.push_back(static_cast<std::uint16_t>(c - 'a' + 10));
    return ids;
}

BaseModel small_model() {
    training::set_compute_threads(1);
    BaseModel model;
    model.run.model = formats::AlbertSpec{.vocabulary = 40,
                                          .embedding = 8,
                                          .hidden = 16,
                                          .layers = 2,
                                          .heads = 2,
                                          .ffn = 32,
                                          .positions = 16,
                                          .classifier_dropout = 0.1};
    model.run.tensors = formats::albert_tensors(formats::albert_of(model.run));
    model.run.sequence_length = 16;
    model.run.seed = 3;
    model.parameters = state::initial_parameters(model.run);
    return model;
}

/// Words that begin with "p" are names, and a second such word goes on with the name.
std::vector<Example> sentences(std::size_t count) {
    std::vector<Example> all;
    for (std::size_t i = 0; i < count; ++i) {
        const bool is_long = i % 3 == 0;
        all.push_back(
            {.words = {"a", i % 2 == 0 ? "px" : "b", is_long ? "pz" : "cc", "d"},
             .labels = {0, static_cast<std::uint16_t>(i % 2 == 0 ? 1 : 0),
                        static_cast<std::uint16_t>(is_long ? i % 2 == 0 ? 2 : 1 : 0), 0}});
    }
    return all;
}

TaskData names_data(const BaseModel& model) {
    const auto rows = [&](std::size_t count) {
        return make_rows(sentences(count), Task::kNames, letters, model.run.special_tokens, 16);
    };
    return {.task = Task::kNames,
            .labels = {"O", "B-PER", "I-PER"},
            .train = rows(60),
            .valid = rows(12),
            .test = rows(18)};
}

const Protocol kQuick{.learning_rate = 0.01, .batch = 8, .epochs = 12, .max_tokens = 16};

}  // namespace

TEST_CASE("rows have a label at the first token of each word", "[server]") {
    const formats::SpecialTokens special;
    const std::vector<Example> examples{{.words = {"ab", "", "cde", "f"}, .labels = {1, 2, 3, 4}}};
    const TokenRows rows = make_rows(examples, Task::kNames, letters, special, 128);
    REQUIRE(rows.rows.size() == 1);
    CHECK(rows.rows[0].tokens == std::vector<std::uint16_t>{2, 10, 11, 12, 13, 14, 15, 3});
    CHECK(rows.rows[0].places == std::vector<std::uint16_t>{1, 3, 6});
    CHECK(rows.rows[0].labels == std::vector<std::uint16_t>{1, 3, 4});
    CHECK(rows.unmeasured == 1);

    const TokenRows cut = make_rows(examples, Task::kNames, letters, special, 5);
    CHECK(cut.rows[0].tokens == std::vector<std::uint16_t>{2, 10, 11, 12, 3});
    CHECK(cut.rows[0].labels == std::vector<std::uint16_t>{1, 3});
    CHECK(cut.unmeasured == 2);

    const std::vector<Example> texts{{.words = {"abc"}, .labels = {5}},
                                     {.words = {""}, .labels = {6}}};
    const TokenRows classes = make_rows(texts, Task::kClasses, letters, special, 4);
    CHECK(classes.rows[0].tokens == std::vector<std::uint16_t>{2, 10, 11, 3});
    CHECK(classes.rows[1].tokens == std::vector<std::uint16_t>{2, 3});
    const auto batch = make_batch(classes.rows, {1, 0}, Task::kClasses, special);
    CHECK(batch.inputs.tokens == std::vector<std::int64_t>{2, 3, 0, 0, 2, 10, 11, 3});
    CHECK(batch.inputs.row_lengths == std::vector<std::int64_t>{2, 4});
    CHECK(batch.places == std::vector<std::int64_t>{0, 1});
    CHECK(batch.labels == std::vector<std::int64_t>{6, 5});
    const auto names = make_batch(rows.rows, {0}, Task::kNames, special);
    CHECK(names.places == std::vector<std::int64_t>{1, 3, 6});
}

TEST_CASE("a model learns names, and a seed decides everything", "[server]") {
    const BaseModel model = small_model();
    const TaskData data = names_data(model);
    std::vector<EpochReport> epochs;
    const auto first =
        fine_tune(model, data, kQuick, 1, 8,
                  {.on_epoch = [&](const EpochReport& epoch) { epochs.push_back(epoch); }});
    REQUIRE(first);
    CHECK(first->test.spans.f1() > 0.95);
    CHECK(first->test.spans.wanted == 12);
    CHECK(first->test.accuracy > 0.95);
    CHECK(first->first_loss == Approx(std::log(3.0)).margin(0.2));
    CHECK(epochs.size() == first->epochs);
    CHECK(epochs[first->best_epoch - 1].is_best);
    CHECK(epochs[first->best_epoch - 1].valid_loss == first->valid_loss);

    const auto again = fine_tune(model, data, kQuick, 1, 8);
    CHECK(again->test.loss == first->test.loss);
    const auto other = fine_tune(model, data, kQuick, 2, 8);
    CHECK(other->test.loss != first->test.loss);
    CHECK(fine_tune(model, data, kQuick, 1, 3)->first_loss ==
          Approx(first->first_loss).epsilon(1e-3));
}

TEST_CASE("a model learns classes", "[server]") {
    const BaseModel model = small_model();
    std::vector<Example> texts;
    for (std::size_t i = 0; i < 40; ++i) {
        texts.push_back({.words = {i % 2 == 0 ? "abab" : "cdcd"},
                         .labels = {static_cast<std::uint16_t>(i % 2)}});
    }
    const auto rows = make_rows(texts, Task::kClasses, letters, model.run.special_tokens, 16);
    const TaskData data{.task = Task::kClasses,
                        .labels = {"even", "odd"},
                        .train = rows,
                        .valid = rows,
                        .test = rows};
    const auto result = fine_tune(model, data, kQuick, 1, 8);
    REQUIRE(result);
    CHECK(result->test.accuracy == 1);
    CHECK(result->test.spans.wanted == 0);
}

TEST_CASE("training ends when the validation loss gains too little", "[server]") {
    const BaseModel model = small_model();
    const TaskData data = names_data(model);
    Protocol slow = kQuick;
    slow.learning_rate = 1e-7;
    const auto result = fine_tune(model, data, slow, 1, 8);
    REQUIRE(result);
    CHECK(result->epochs == 4);  // the first is a gain, and three are not
    slow.patience = 5;
    CHECK(fine_tune(model, data, slow, 1, 8)->epochs == 6);
}

TEST_CASE("a training can be interrupted at any moment", "[server]") {
    const BaseModel model = small_model();
    const TaskData data = names_data(model);
    Protocol once = kQuick;
    once.epochs = 1;
    std::uint64_t all = 0;
    const auto whole = fine_tune(model, data, once, 1, 8, {.is_interrupted = [&] {
                                     ++all;
                                     return false;
                                 }});
    REQUIRE(whole);
    for (std::uint64_t limit = 0; limit < all; limit += 37) {
        std::uint64_t calls = 0;
        CHECK_FALSE(fine_tune(model, data, once, 1, 8,
                              {.is_interrupted = [&] { return calls++ >= limit; }}));
    }
}

TEST_CASE("data without a label are refused", "[server]") {
    const BaseModel model = small_model();
    TaskData data = names_data(model);
    data.test = make_rows({{.words = {""}, .labels = {0}}}, Task::kNames, letters,
                          model.run.special_tokens, 16);
    CHECK_THROWS_WITH(fine_tune(model, data, kQuick, 1, 8), Catch::Contains("has a token"));
}

TEST_CASE("AdamW computes as torch.optim.AdamW", "[server]") {
    // torch.optim.AdamW([1, -2, 0.5], lr=0.1, weight_decay=0.01), gradients p, then [1, 0, -3].
    std::vector<float> values{1, -2, 0.5f};
    AdamW optimizer{3};
    optimizer.step(values, std::vector<float>{1, -2, 0.5f}, 0.1, 0.01);
    optimizer.step(values, std::vector<float>{1, 0, -3}, 0.1, 0.01);
    const std::vector<float> wanted{0.798101008f, -1.8290962f, 0.461492389f};
    for (std::size_t i = 0; i < 3; ++i) CHECK(values[i] == Approx(wanted[i]).epsilon(1e-6));
    std::vector<float> gradient{3, 4};
    CHECK(clip_norm(gradient, 1) == Approx(5));
    CHECK(gradient[0] == Approx(0.6).epsilon(1e-5));
    CHECK(clip_norm(gradient, 1) == Approx(1).epsilon(1e-5));
}

}  // namespace dedloc::finetune
