// A figure of an evaluation by its name.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <string_view>

#include "boinc_app/training/evaluation.hpp"

namespace dedloc::training {

inline const Estimate& figure_of(const Evaluation& evaluation, std::string_view name) {
    const auto found = std::ranges::find(evaluation.figures, name, &Figure::name);
    REQUIRE(found != evaluation.figures.end());
    return found->estimate;
}

}  // namespace dedloc::training
