#include "project_server/project/last_backup.hpp"

#include <catch2/catch.hpp>
#include <fstream>

#include "project_server/project/backup.hpp"
#include "tests/temporary_directory.hpp"

using namespace dedloc;
using namespace dedloc::project;

TEST_CASE("the last backup is noted, and one that is old or absent is warned of", "[server]") {
    const TemporaryDirectory project;
    CHECK_FALSE(last_backup(project.path()).has_value());
    CHECK(backup_warning(std::nullopt, 5).starts_with("the project has no backup"));

    constexpr std::int64_t kThen = 1'700'000'000;
    note_backup(project.path(), {.file = "/a \"b\"", .bytes = 1, .created_at = kThen - 9});
    note_backup(project.path(), {.file = "/b", .bytes = 5'000, .created_at = kThen});
    const auto last = last_backup(project.path());
    REQUIRE(last);
    CHECK(last->file == "/b");
    CHECK(last->bytes == 5'000);
    CHECK(backup_warning(last, kThen + kOldBackupSeconds - 1).empty());
    CHECK_THAT(backup_warning(last, kThen + kOldBackupSeconds), Catch::Contains("7 days old"));
    // A clock that was set back.
    CHECK(backup_warning(last, kThen - 1'000).empty());

    std::ofstream{project.path() / "last_backup.json"} << "{\"created_at\":";
    CHECK_FALSE(last_backup(project.path()).has_value());
}
