// A run whose list names a source that its folder has not.
#include <catch2/catch.hpp>

#include "tests/project_server/check/checked_project.hpp"

namespace dedloc::check {
namespace {

namespace fs = std::filesystem;

TEST_CASE("an added source whose file a backup did not have is found, and what to do about it",
          "[server][integration]") {
    CheckedProject project;
    const fs::path file = project.add_source();
    CHECK(project.faults().empty());
    // The project's list comes back from the peers, and what it names does not.
    fs::remove_all(file.parent_path());
    fs::remove(project.run_folder() / "shards/shard_c");
    for (project.is_quick = false;; project.is_quick = true) {
        const auto faults = project.faults();
        REQUIRE(faults.size() == 1);
        CHECK(faults[0].check == "runs");
        CHECK(faults[0].level == Level::kBad);
        CHECK(faults[0].sentence ==
              "the run demo lacks the added source " + file.stem().string().substr(0, 16) +
                  ": the project was restored from a backup that is older, or the file is lost");
        CHECK(faults[0].advice.starts_with("repeat its dedloc run add-source"));
        if (project.is_quick) break;
    }
}

}  // namespace
}  // namespace dedloc::check
