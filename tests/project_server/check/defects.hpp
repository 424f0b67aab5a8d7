// Projects in each of which one thing is wrong.
#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "tests/project_server/check/checked_project.hpp"

namespace dedloc::check {

/// Something that is wrong, and what is said about it.
struct Defect {
    const char* check;
    const char* sentence;  ///< part of it
    Level level;
    std::function<void(CheckedProject&)> make;
};

/// Each defect alone in a project: it is found, and nothing bad is said of anything else.
inline void find_each(const std::vector<Defect>& defects) {
    for (const Defect& defect : defects) {
        CheckedProject project;
        defect.make(project);
        INFO(defect.check << ": " << defect.sentence);
        const auto faults = project.faults();
        std::string said;
        bool is_found = false;
        for (const Finding& fault : faults) {
            said += fault.check + ": " + fault.sentence + '\n';
            is_found = is_found || (fault.check == defect.check && fault.level == defect.level &&
                                    fault.sentence.find(defect.sentence) != std::string::npos);
            CHECK((fault.level == Level::kUnknown || !fault.advice.empty()));
        }
        INFO(said);
        CHECK(is_found);
        CHECK(faults.size() <= 4);
    }
}

}  // namespace dedloc::check
