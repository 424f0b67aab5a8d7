#include "project_server/accounts/job_preferences.hpp"

#include <catch2/catch.hpp>

#include "project_server/scheduler/preferences.hpp"

using namespace dedloc::server;

TEST_CASE("choices of jobs survive writing, and what is not ours stays", "[server]") {
    ProjectChoices choices{
        .general = {.resource_share = 5, .uses_nvidia_gpu = false},
        .venues = {{"home", {.resource_share = 9, .uses_processor = false}}, {"work", {}}}};
    const std::string old =
        "<project_preferences>\n<max_cpus>3</max_cpus>\n<venue name=\"home\">\n"
        "<project_specific>\n<x>1</x>\n</project_specific>\n</venue>\n<venue name=\"moon\">\n"
        "<no_cpu/></venue></project_preferences>";
    const std::string text = with_choices(old, choices);
    CHECK(parse_choices(text) == choices);
    CHECK(with_choices(text, choices) == text);
    CHECK(parse_project_preferences(text, "").max_cpus == 3);
    CHECK(parse_project_preferences(text, "work").max_cpus == 3);
    CHECK(parse_project_preferences(text, "home").max_cpus == 0);
    CHECK(text.find("<x>1</x>") != std::string::npos);
    CHECK(text.find("moon") == std::string::npos);
    // The client copies the element up to a closing tag at the start of a line.
    CHECK(text.ends_with("\n</project_preferences>"));
}

TEST_CASE("an element named venue inside others does not end a venue", "[server]") {
    const std::string old =
        "<project_preferences>\n<project_specific>\n<x>1</x>\n<venue>\n<y>2</y>\n</venue>\n"
        "</project_specific>\n</project_preferences>";
    // A new venue begins with the general elements.
    const ProjectChoices choices{.general = {}, .venues = {{"work", {.resource_share = 7}}}};
    const std::string text = with_choices(old, choices);
    CHECK(parse_choices(text) == choices);
    CHECK(with_choices(text, choices) == text);
    CHECK(text.find("<x>1</x>") != std::string::npos);
    CHECK(text.find("<y>") == std::string::npos);
}

TEST_CASE("any text gives choices within bounds", "[server]") {
    for (const char* const text :
         {"", "x", "<project_preferences>", "<project_preferences><venue name=\"home\">",
          "<project_preferences><resource_share>1e99</resource_share></project_preferences>",
          "<project_preferences><resource_share>-5</resource_share></project_preferences>",
          "<project_preferences><venue name=\"home\"><venue name=\"work\"></venue></venue>"
          "</project_preferences>"}) {
        const ProjectChoices choices = parse_choices(text);
        CHECK(choices.general.resource_share >= 0);
        CHECK(choices.general.resource_share <= 10'000);
        CHECK(parse_choices(with_choices(text, choices)) == choices);
    }
}
