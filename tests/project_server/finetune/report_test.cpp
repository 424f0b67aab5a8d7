// Results as text, JSON and a section of a card.
#include "project_server/finetune/report.hpp"

#include <catch2/catch.hpp>

namespace dedloc::finetune {
namespace {

TuningReport made_report() {
    const auto result = [](std::uint64_t right) {
        return TuningResult{.epochs = 5,
                            .best_epoch = 2,
                            .valid_loss = 0.5,
                            .test = {.loss = 0.25,
                                     .accuracy = 0.75,
                                     .spans = {.right = right, .predicted = 8, .wanted = 8}},
                            .first_loss = 2};
    };
    return {.task = Task::kNames,
            .data = "/data/bn-ner",
            .train = 10,
            .valid = 2,
            .test = 3,
            .labels = 4,
            .unmeasured = 7,
            .models = {{.name = "a|<b>", .seeds = {{1, result(4)}, {2, result(2)}}},
                       {.name = "বাংলা", .seeds = {{1, result(8)}}}}};
}

}  // namespace

TEST_CASE("a mean stands with the deviation of a sample", "[server]") {
    const std::vector<double> values{1, 2, 4};
    CHECK(spread_of(values).mean == Approx(7.0 / 3));
    CHECK(spread_of(values).deviation == Approx(1.5275252316519468));
    CHECK(spread_of({values.data(), 1}).deviation == 0);
}

TEST_CASE("results are a table", "[server]") {
    const std::string text = report_text(made_report());
    CHECK(text.find("ner on /data/bn-ner: 10 sentences to train on, 2 to choose the epoch, 3 to "
                    "test, 4 labels\n") == 0);
    CHECK(text.find("model  seeds  F1               precision") != std::string::npos);
    CHECK(text.find("a|<b>  2      37.50 ± 17.68 %  37.50 ± 17.68 %") != std::string::npos);
    CHECK(text.find("বাংলা  1      100.00 %") != std::string::npos);
    CHECK(text.find("7 words of the test data are beyond") != std::string::npos);
}

TEST_CASE("results are JSON", "[server]") {
    const std::string text = report_json(made_report());
    CHECK(text.find(R"("name":"a|<b>","f1":0.375,"f1_deviation":0.1767)") != std::string::npos);
    CHECK(text.find(R"("seeds":[{"seed":1,"epochs":5,"best_epoch":2,"first_loss":2.0,)") !=
          std::string::npos);
}

TEST_CASE("a card gets one section for each task", "[server]") {
    TuningReport report = made_report();
    const std::string once = card_with_section("# model", report);
    CHECK(once.find("# model\n\n<!-- fine-tuned: ner -->\n") == 0);
    CHECK(once.find("| a\\|\\<b\\> | 2 | 37.50 ± 17.68 % |") != std::string::npos);
    CHECK(card_with_section(once, report) == once);
    report.task = Task::kClasses;
    const std::string both = card_with_section(once, report);
    CHECK(both.size() > once.size());
    CHECK(both.find(once) == 0);
    report.models.pop_back();
    const std::string changed = card_with_section(both, report);
    CHECK(changed.size() < both.size());
    CHECK(changed.find("## Fine-tuned: names in a text") != std::string::npos);
}

}  // namespace dedloc::finetune
