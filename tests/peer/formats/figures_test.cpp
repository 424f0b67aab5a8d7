// The figures of each task: names that programs know, and what people read.
#include "peer/formats/figures.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "peer/formats/task.hpp"

namespace dedloc::formats {
namespace {

std::vector<std::string> names_of(const char* architecture, FigurePlace place) {
    std::vector<std::string> names;
    for (const FigureKind& kind : figures_of(architecture)) {
        if (kind.place >= place) names.emplace_back(kind.name);
    }
    return names;
}

}  // namespace

TEST_CASE("each task has its figures, and one that is not listed only a loss", "[wire]") {
    using Names = std::vector<std::string>;
    CHECK(names_of("albert", FigurePlace::kData) ==
          Names{"masked_loss", "order_loss", "masked_accuracy", "order_accuracy"});
    CHECK(names_of("albert", FigurePlace::kTable) == Names{"masked_accuracy", "order_accuracy"});
    CHECK(names_of("swav", FigurePlace::kTable) ==
          Names{"knn_accuracy", "linear_accuracy", "untrained_knn_accuracy",
                "untrained_linear_accuracy", "below_uniform", "assignment_entropy",
                "prototypes_used"});
    CHECK(names_of("swav", FigurePlace::kHeadline) == Names{"knn_accuracy", "linear_accuracy"});
    for (const char* const other : {"module", "", "ALBERT"}) {
        CHECK(figures_of(other).empty());
        CHECK(loss_of(other).unit == FigureUnit::kNumber);
        CHECK(std::string{data_of(other)} == "data");
    }
    CHECK(loss_of("albert").unit == FigureUnit::kNats);
    CHECK_FALSE(loss_of("swav").is_higher_better);
    CHECK(std::string{data_of("albert")} == "text");
    CHECK(std::string{data_of("swav")} == "pictures");
}

TEST_CASE("the loss of a source is a figure with the source's name", "[wire]") {
    CHECK(source_loss_name("web-2") == "loss_of_web-2");
    const std::vector<MeasuredFigure> figures{
        {"loss_of_web-2", 6.5, 0.25}, {"loss_of_wiki", 7, {}}, {"masked_loss", 1, {}}};
    CHECK(source_losses(figures) == std::vector<SourceLoss>{{"web-2", 6.5, 0.25}, {"wiki", 7, {}}});
    CHECK(source_losses({}).empty());
    // Source names have at most 40 bytes, names of figures 64.
    CHECK(source_loss_name(std::string(40, 'x')).size() <= 64);
}

TEST_CASE("names fit the database and are no other keys of an evaluation", "[wire]") {
    for (const char* const architecture : {"albert", "swav"}) {
        std::set<std::string> names{"step", "loss", "loss_error", "samples", "seconds", "digest"};
        for (const FigureKind& kind : figures_of(architecture)) {
            const std::string name = kind.name;
            INFO(name);
            CHECK(names.insert(name).second);
            CHECK(name.size() <= 64);
            CHECK(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == name.npos);
            CHECK_FALSE(figure_heading(kind).empty());
        }
        CHECK(names_of(architecture, FigurePlace::kHeadline).size() <= 3);
    }
}

TEST_CASE("figures are written in their units", "[wire]") {
    const auto text = [](FigureUnit unit, double value) {
        return figure_text({"x", "x", unit, true, FigurePlace::kData}, value);
    };
    CHECK(text(FigureUnit::kShare, 0.125) == "12.50 %");
    CHECK(text(FigureUnit::kNats, 6.25) == "6.2500");
    CHECK(text(FigureUnit::kNumber, -0.5) == "-0.5000");
    CHECK(text(FigureUnit::kCount, 0) == "0");
    CHECK(text(FigureUnit::kCount, 999) == "999");
    CHECK(text(FigureUnit::kCount, 1'234'567) == "1,234,567");
    CHECK(text(FigureUnit::kCount, -1'234) == "-1,234");
    CHECK(text(FigureUnit::kCount, NAN) == "nan");

    const auto heading = [](const char* label) {
        return figure_heading({"x", label, FigureUnit::kShare, true, FigurePlace::kData});
    };
    CHECK(heading("masked tokens right") == "Masked tokens right");
    CHECK(heading("kNN accuracy") == "kNN accuracy");
    CHECK(heading("a share") == "A share");
    CHECK(heading("").empty());
}

TEST_CASE("a line about progress has the figures that were measured", "[wire]") {
    std::vector<MeasuredFigure> figures{{.name = "order_accuracy", .value = 0.5},
                                        {.name = "of_a_later_version", .value = 7},
                                        {.name = "masked_loss", .value = 6.5},
                                        {.name = "masked_accuracy", .value = 0.25}};
    CHECK(figures_text("albert", figures, FigurePlace::kHeadline) ==
          "masked tokens right 25.00 %, sentence orders right 50.00 %");
    CHECK(figures_text("albert", figures, FigurePlace::kData) ==
          "loss of masked tokens 6.5000, masked tokens right 25.00 %, "
          "sentence orders right 50.00 %");
    CHECK(figures_text("module", figures, FigurePlace::kData).empty());
    REQUIRE(find_figure(figures, "masked_loss") != nullptr);
    CHECK(find_figure(figures, "masked_loss")->value == 6.5);
    CHECK(find_figure(figures, "order_loss") == nullptr);
}

TEST_CASE("a model that guesses has a loss that follows from its shape", "[wire]") {
    RunFile run;
    run.model = AlbertSpec{.vocabulary = 1'000};
    CHECK(guessing_loss(run)->value == std::log(1'000.0) + std::log(2.0));
    CHECK(std::string{guessing_loss(run)->formula} == "ln V + ln 2");
    SwavSpec swav;
    swav.prototypes = 300;
    run.model = swav;
    CHECK(guessing_loss(run)->value == std::log(300.0));
    CHECK(std::string{guessing_loss(run)->formula} == "ln K");
}

}  // namespace dedloc::formats
