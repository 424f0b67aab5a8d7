#include "project_server/accounts/preference_changes.hpp"

#include "project_server/scheduler/preferences.hpp"
#include "tests/project_server/web/browser.hpp"

using namespace dedloc::server;
using Catch::Contains;

namespace {

std::size_t index_of(std::string_view name) {
    for (std::size_t i = 0; i < kComputingFields.size(); ++i) {
        if (name == kComputingFields[i].name) return i;
    }
    FAIL("no field " << name);
    return 0;
}

ComputingValues with(std::string_view name, double value) {
    ComputingValues values = usual_computing();
    values[index_of(name)] = value;
    return values;
}

/// A form with these values.
Fields form_of(const ComputingValues& values) {
    Fields fields;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto& field = kComputingFields[i];
        if (!field.is_flag) fields[field.name] = std::to_string(values[i]);
        if (field.is_flag && values[i] != 0) fields[field.name] = "1";
    }
    return fields;
}

}  // namespace

TEST_CASE("extreme values of clients keep their meaning", "[server]") {
    // The latest time that is believed is passed, too.
    const std::string late =
        "<global_preferences>\n<mod_time>4e9</mod_time>\n<max_ncpus_pct>1e-323</max_ncpus_pct>\n"
        "</global_preferences>\n";
    const auto read = parse_computing_preferences(late);
    CHECK(read.modified == 4e9);
    CHECK(read.cpu_fraction == 1);  // a share that rounds to 0 is no limit, as 0 is
    CHECK(
        parse_computing_preferences(with_computing(late, "home", usual_computing(), 1)).modified ==
        4e9 + 1);
}

TEST_CASE("computing preferences survive writing, and what is not ours stays", "[server]") {
    const std::string old =
        "<global_preferences>\n   <source_project>http://x/</source_project>\n"
        "   <mod_time>1900000000.5</mod_time>\n   <run_on_batteries/>\n"
        "   <max_ncpus_pct>55.000000</max_ncpus_pct>\n   <max_ncpus_pct>9</max_ncpus_pct>\n"
        "   <day_prefs>\n      <day_of_week>1</day_of_week>\n   </day_prefs>\n"
        "   <venue name=\"work\">\n      <max_bytes_sec_up>2048</max_bytes_sec_up>\n   </venue>\n"
        "</global_preferences>\n";
    const auto before = parse_computing_choices(old);
    CHECK(before.general == [] {
        auto values = with("max_ncpus_pct", 9);  // the last one, as for clients
        values[index_of("run_on_batteries")] = 1;
        return values;
    }());
    CHECK(before.venues.at("work") == with("max_bytes_sec_up", 2));

    const auto home = with("cpu_usage_limit", 12.5);
    const std::string text = with_computing(old, "home", home, 1'800'000'000);
    auto after = before;
    after.venues["home"] = home;
    CHECK(parse_computing_choices(text) == after);
    // Newer than what clients have, also if the clock of the one that wrote it was wrong.
    CHECK(parse_computing_preferences(text).modified == 1'900'000'001);
    CHECK_THAT(text, Contains("<day_of_week>1</day_of_week>") &&
                         Contains("\n<cpu_usage_limit>12.5</cpu_usage_limit>\n") &&
                         Contains("<source_project>http://x/</source_project>") &&
                         !Contains(" />") && Catch::EndsWith("\n</global_preferences>\n"));
    const std::string general = with_computing(text, "", with("disk_interval", 7), 2'000'000'000);
    after.general = with("disk_interval", 7);
    CHECK(parse_computing_choices(general) == after);
    CHECK(parse_computing_preferences(general).modified == 2'000'000'000);
    CHECK(general.find("<disk_interval>7") < general.find("<venue"));
    after.venues.erase("work");
    CHECK(parse_computing_choices(with_computing(general, "work", {}, 0)) == after);
}

TEST_CASE("any text gives computing preferences within bounds", "[server]") {
    std::string deep;
    for (int i = 0; i < 20'000; ++i) deep += "<a>";
    for (int i = 0; i < 20'000; ++i) deep += "</a>";
    for (const std::string& text :
         {std::string{}, std::string{"x"}, std::string{"<global_preferences>"},
          std::string{"<global_preferences><max_ncpus_pct>nan</max_ncpus_pct>"
                      "<cpu_usage_limit>1e999</cpu_usage_limit><mod_time>1e300</mod_time>"
                      "<venue name=\"moon\"/><start_hour>-3</start_hour></global_preferences>"},
          "<global_preferences>" + deep + "</global_preferences>"}) {
        CHECK(parse_computing_choices(text) == ComputingChoices{});
        const auto written = with_computing(text, "home", with("start_hour", 8), 5);
        CHECK(written.size() < 10'000);
        CHECK(parse_computing_choices(written).venues.at("home") == with("start_hour", 8));
        CHECK(parse_computing_preferences(written).modified == 5);
    }
}

TEST_CASE("computing preferences are chosen on their page, in general and by venue",
          "[server][integration]") {
    TestSite site;
    Browser browser{site};
    CHECK(browser.get("/account/computing").status == 303);
    register_as(browser, "Ada");
    const auto send = [&](const std::string& part, const Fields& fields) {
        return browser.submit("/account/computing", "/account/computing/" + part, fields);
    };
    const auto stored = [&] { return read_computing_choices(site.database(), 1); };
    CHECK(send("general", form_of(with("max_ncpus_pct", 50))).status == 303);
    CHECK(stored().general == with("max_ncpus_pct", 50));
    auto work = form_of(with("max_bytes_sec_up", 100));
    CHECK(send("work", work).status == 303);  // the box is not ticked
    CHECK(stored().venues.empty());
    work["has_own"] = "1";
    CHECK(send("work", work).status == 303);
    CHECK(stored().venues.at("work") == with("max_bytes_sec_up", 100));
    CHECK_THAT(browser.get("/account/computing?done=1").body,
               Contains("At work: own settings") && Contains("value=\"50\"") && Contains("Saved."));
    const auto before = site.database().query_one("select global_prefs from user");
    for (const char* const bad : {"0", "101", "", "fifty", "nan", "1e400", "50<script>"}) {
        auto fields = form_of(usual_computing());
        fields["max_ncpus_pct"] = bad;
        const auto answer = send("general", fields);
        CHECK(answer.status == 422);
        CHECK_THAT(answer.body, Contains("Processors: Processors, at most (%) is a number from 1"));
        CHECK_THAT(answer.body, !Contains("<script>"));
    }
    CHECK(browser.send("/account/computing/general", form_of(usual_computing())).status == 403);
    CHECK(send("moon", work).status == 404);
    CHECK(site.database().query_one("select global_prefs from user")->text("global_prefs") ==
          before->text("global_prefs"));
}
