// Jobs that only average: which hosts get one, and beside what.
#include "project_server/scheduler/catalogue.hpp"
#include "project_server/scheduler/plan_class.hpp"
#include "tests/project_server/scheduler/office.hpp"

namespace dedloc::server {
namespace {

/// An office that has published an aggregator as well, and has unsent jobs of it.
struct MixedOffice : Office {
    MixedOffice(int jobs, int to_average) : Office(jobs) {
        Database& database = project.database();
        database.execute(
            "insert into app (id, name, user_friendly_name, non_cpu_intensive) values (2, "
            "'average',"
            " 'Aggregator', 1)");
        database.execute(
            "insert into app_version (appid, version_num, platformid, plan_class, xml_doc) select "
            "2, 100, id, ?, '<app_version>\n</app_version>\n' from platform where name = "
            "'x86_64-pc-linux-gnu'",
            {kNonCpuIntensive});
        for (int i = 0; i < to_average; ++i) {
            const std::string name = "a" + std::to_string(i);
            database.execute(
                "insert into workunit (name, appid, xml_doc, delay_bound, transition_time, "
                "rsc_memory_bound) values (?, 2, '<workunit>\n</workunit>\n', 100, ?, 1e8)",
                {name, INT32_MAX});
            database.execute(
                "insert into result (name, workunitid, appid, server_state, xml_doc_in) values (?, "
                "?, 2, 2, '<result>\n</result>\n')",
                {name + "_0", database.insert_id()});
        }
    }
    /// Jobs that train need more memory than the host has.
    void need_much_memory() {
        project.database().execute("update workunit set rsc_memory_bound = 1e10 where appid = 1");
    }
    std::int64_t sent_to_average() { return count("result where server_state = 4 and appid = 2"); }
};

const std::string kAnotherHost = "<allow_multiple_clients/>";

std::string lists(const std::string& names) {
    return "<other_results>" + names + "</other_results>";
}
std::string lists_one(const std::string& name) {
    return lists("<other_result><name>" + name + "</name></other_result>");
}

}  // namespace

TEST_CASE("a host without the memory to train gets one job that averages", "[server][boinc]") {
    MixedOffice office{2, 2};
    office.need_much_memory();
    std::string reply = office.ask(kWantTwo);
    CHECK(sent(reply) == 1);
    CHECK_THAT(reply, Catch::Contains("<name>average</name>") &&
                          Catch::Contains("<non_cpu_intensive>1</non_cpu_intensive>") &&
                          Catch::Contains("<plan_class>nci_dedloc</plan_class>") &&
                          Catch::Contains("<avg_ncpus>0.050000</avg_ncpus>") &&
                          !Catch::Contains("Tasks need"));
    // It has one, so it gets no other, and is told what it lacks to train.
    reply = office.ask(kWantTwo + lists_one("a0_0"), 1, 2);
    CHECK(sent(reply) == 0);
    CHECK_THAT(reply, Catch::Contains("Tasks need 10000 MB of memory; this computer has"));
    CHECK(office.sent_to_average() == 1);
    // Another host gets the other one.
    CHECK(sent(office.ask(kWantTwo + kAnotherHost)) == 1);
    CHECK(office.sent_to_average() == 2);
    // Then there is none.
    CHECK(sent(office.ask(kWantTwo + kAnotherHost)) == 0);
}

TEST_CASE("a host that trains gets no job that averages", "[server][boinc]") {
    MixedOffice office{1, 1};
    CHECK_THAT(office.ask(kWantTwo),
               Catch::Contains("<name>train</name>") && !Catch::Contains("<name>average</name>"));
    CHECK(sent(office.ask(kWantTwo + lists_one("w0_0"), 1, 2)) == 0);
    CHECK(office.sent_to_average() == 0);
    // It trains no more.
    CHECK(sent(office.ask(kWantTwo + report("w0_0"), 1, 3)) == 1);
    CHECK(office.sent_to_average() == 1);
}

TEST_CASE("a job that averages takes no seat of one that trains", "[server][boinc]") {
    MixedOffice office{0, 1};
    CHECK(sent(office.ask(kWantTwo)) == 1);
    Database& database = office.project.database();
    database.execute(
        "insert into workunit (name, appid, xml_doc, delay_bound, transition_time) values ('w', 1, "
        "'<workunit>\n</workunit>\n', 100, ?)",
        {INT32_MAX});
    database.execute(
        "insert into result (name, workunitid, appid, server_state, xml_doc_in) values ('w_0', ?, "
        "1, 2, '<result>\n</result>\n')",
        {database.insert_id()});
    const std::string reply = office.ask(kWantTwo + lists_one("a0_0"), 1, 2);
    CHECK(sent(reply) == 1);
    CHECK_THAT(reply, Catch::Contains("<name>train</name>"));
}

TEST_CASE("a lost job that averages is sent again", "[server][boinc]") {
    MixedOffice office{0, 1};
    CHECK(sent(office.ask(kWantTwo)) == 1);
    const std::string reply = office.ask(kWantTwo + lists(""), 1, 2);
    CHECK(sent(reply) == 1);
    CHECK_THAT(reply, Catch::Contains("<name>a0_0</name>"));
    CHECK(office.sent_to_average() == 1);
}

TEST_CASE("a project with aggregators only does not tell clients to ask for nothing",
          "[server][boinc]") {
    MixedOffice office{0, 0};
    office.project.database().execute("update app_version set deprecated = 1 where appid = 1");
    office.now += kCatalogueSeconds;
    CHECK_THAT(office.ask(""),
               !Catch::Contains("<no_rsc_apps>CPU") && Catch::Contains("<no_rsc_apps>NVIDIA"));
}

}  // namespace dedloc::server
