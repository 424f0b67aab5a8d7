#include "project_server/project/app_versions.hpp"

#include <fstream>

#include "peer/base/error.hpp"
#include "project_server/publishing/app_version.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/scheduler/catalogue.hpp"
#include "tests/project_server/project_fixture.hpp"

using namespace dedloc;
using namespace dedloc::project;

namespace {

void publish(server::TestProject& project, int version, const char* plan_class) {
    const auto program = project.root() / "program";
    std::ofstream{program} << "program " << version;
    server::add_app_version(
        project.database(), project.config(),
        {.app = "dedloc_train",
         .friendly_name = "Trainer",
         .version = version,
         .plan_class = plan_class,
         .files = {{.source = program, .open_name = "train", .is_main_program = true}}});
}

std::vector<std::int64_t> offered(server::TestProject& project) {
    std::vector<std::int64_t> numbers;
    for (const auto& version : server::read_catalogue(project.database())) {
        numbers.push_back(version.number);
    }
    return numbers;
}

}  // namespace

TEST_CASE("a withdrawn app version gets no new jobs until that is undone",
          "[server][integration]") {
    server::TestProject project;
    auto& database = project.database();
    server::make_key_pair(project.config().key_directory, "code_sign");
    publish(project, 100, "mt_dedloc");
    publish(project, 101, "mt_dedloc");
    publish(project, 101, "");
    database.execute(
        "insert into result (name, workunitid, server_state, appid, app_version_id) "
        "values ('r', 1, 4, 1, 1)");
    database.execute(
        "insert into host_app_version (host_id, app_version_id) values (1, 1), (2, 1)");

    const std::string listed = json::write(app_versions(database));
    CHECK_THAT(listed, Catch::Contains("\"version\":\"1.0\",\"platform\":\"x86_64-pc-linux-gnu\","
                                       "\"plan_class\":\"mt_dedloc\",\"is_withdrawn\":false,"
                                       "\"min_client\":\"any\",\"jobs\":1,\"hosts\":2,\"files\":1,"
                                       "\"size_bytes\":11,\"download_bytes\":11,"));

    ChosenVersions chosen{.app = "dedloc_train", .version = 101};
    const auto changed = change_versions(database, chosen, {.is_withdrawn = true});
    CHECK(std::get<std::int64_t>(changed.field("offered").value()) == 1);
    CHECK(offered(project) == std::vector<std::int64_t>{100});
    CHECK(json::write(change_versions(database, chosen, {.is_withdrawn = true})) ==
          json::write(changed));

    chosen.plan_class = "";
    change_versions(database, chosen, {.is_withdrawn = false, .min_client = 72'005});
    CHECK(offered(project) == std::vector<std::int64_t>{101, 100});
    CHECK(server::read_catalogue(database).front().min_client == 72'005);
    CHECK_THAT(json::write(app_versions(database)), Catch::Contains("\"min_client\":\"7.20.5\""));
    chosen.plan_class.reset();
    change_versions(database, chosen, {.is_withdrawn = false});
    CHECK(offered(project).size() == 3);
    CHECK(database.query_one("select server_state from result")->integer("server_state") == 4);

    chosen.plan_class = "none";
    CHECK_THROWS_AS(change_versions(database, chosen, {.is_withdrawn = true}), InputError);
    CHECK_THROWS_AS(
        change_versions(database, {.app = "dedloc_train", .version = 102}, {.is_withdrawn = true}),
        InputError);
    CHECK(client_number("any") == 0);
    CHECK(client_number("8.2.1") == 80'201);
    for (const char* const wrong : {"", "7", "7.20", "7.100.1", "7.20.5x", "0.1.1"}) {
        CHECK_THROWS_AS(client_number(wrong), InputError);
    }
    CHECK(version_number("1.7") == 107);
    for (const char* const wrong : {"", "1", "1.100", "1.0x", "-1.0"}) {
        CHECK_THROWS_AS(version_number(wrong), InputError);
    }
}
