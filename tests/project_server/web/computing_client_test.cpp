// Computing preferences between the web pages and a stock BOINC client: the newest wins.
#include "project_server/accounts/preference_changes.hpp"
#include "tests/project_server/web/served_project.hpp"

namespace dedloc::server {

TEST_CASE("computing preferences reach a stock client, and its newer ones come back",
          "[server][boinc][integration]") {
    ServedProject project;
    project.serve();
    StockClient client{project.root() / "client.log", {}};
    const std::string& url = project.url();
    client.tell("--create_account " + url + " ada@example.org secret Ada");
    const auto user = project.database().query_one("select id, authenticator from user");
    REQUIRE(user);
    const auto choose = [&](const std::string& venue, std::size_t field, double value) {
        ComputingValues values = usual_computing();
        values.at(field) = value;
        CHECK_FALSE(choose_computing(project.database(), user->integer("id"), venue, values,
                                     static_cast<std::int64_t>(unix_now())));
    };
    const auto index = [](std::string_view name) {
        return static_cast<std::size_t>(
            std::ranges::find(kComputingFields, name, &ComputingField::name) -
            kComputingFields.begin());
    };
    choose("", index("max_ncpus_pct"), 61);
    choose("work", index("max_ncpus_pct"), 62);
    project.database().execute("update user set venue = 'work'");
    client.tell("--project_attach " + url + " " + user->text("authenticator"));
    const fs::path file = client.home() / "global_prefs.xml";
    const auto has = [&](const char* text) {
        return within(60s, [&] {
            client.tell("--project " + url + " update");
            return contents(file).find(text) != std::string::npos;
        });
    };
    INFO(client.log());
    REQUIRE(has("<max_ncpus_pct>61<"));
    CHECK_THAT(contents(file), Catch::Contains("<venue name=\"work\">"));
    // It obeys those of its venue.
    CHECK(within(30s, [&] {
        const std::string log = client.log();
        return log.find("General prefs: using separate prefs for work") != std::string::npos;
    }));

    // Preferences that another project has given the client are newer.
    std::string theirs = contents(file);
    const auto at = theirs.find("<mod_time>") + 10;
    const auto modified = std::stoll(theirs.substr(at));
    theirs.replace(at, theirs.find('<', at) - at, std::to_string(modified + 1'000));
    const auto value = theirs.find("<max_ncpus_pct>61");
    theirs.replace(value, 17, "<max_ncpus_pct>63");
    std::ofstream{file} << theirs;
    client.tell("--read_global_prefs_override");  // reads both files
    CHECK(within(60s, [&] {
        client.tell("--project " + url + " update");
        const auto now = read_computing_choices(project.database(), user->integer("id"));
        return now.general.at(index("max_ncpus_pct")) == 63;
    }));
    // A later choice on the page wins again.
    choose("", index("max_ncpus_pct"), 64);
    CHECK(has("<max_ncpus_pct>64<"));
}

}  // namespace dedloc::server
