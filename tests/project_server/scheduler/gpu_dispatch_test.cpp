// Which version of an app a host gets, and on which of its resources.
#include "peer/formats/task.hpp"
#include "project_server/scheduler/catalogue.hpp"
#include "project_server/scheduler/plan_class.hpp"
#include "tests/project_server/scheduler/office.hpp"

namespace dedloc::server {
namespace {

/// An office that has published a plain, a multithread and a CUDA version.
struct GpuOffice : Office {
    explicit GpuOffice(int jobs) : Office(jobs) {
        for (const std::string_view plan_class : {kMultithread, kCuda}) {
            project.database().execute(
                "insert into app_version (appid, version_num, platformid, plan_class, xml_doc) "
                "select 1, 101, id, ?, ? from platform where name = 'x86_64-pc-linux-gnu'",
                {plan_class,
                 "<file_info>\n    <name>lib.1</name>\n    <nbytes>5000000</nbytes>\n</file_info>\n"
                 "<app_version>\n    <app_name>train</app_name>\n    "
                 "<version_num>101</version_num>\n"
                 "<file_ref>\n    <file_name>lib.1</file_name>\n    <copy_file/>\n</file_ref>\n"
                 "</app_version>\n"});
        }
    }
};

/// The GPUs of a client, and work wanted for `idle` of them.
std::string gpus(int count, int idle, const std::string& more = "") {
    return "<coprocs><coproc_cuda><count>" + std::to_string(count) +
           "</count><name>RTX</name><have_cuda>1</have_cuda><req_secs>" +
           std::to_string(idle * 100) + "</req_secs><req_instances>" + std::to_string(idle) +
           "</req_instances><peak_flops>4e13</peak_flops><cudaVersion>13000</cudaVersion>"
           "<totalGlobalMem>1.6e10</totalGlobalMem><major>8</major><minor>9</minor>" +
           more + "</coproc_cuda></coprocs>";
}

int count_of(const std::string& text, std::string_view part) {
    int count = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

}  // namespace

TEST_CASE("a host gets a job on its processors and one on each GPU", "[server][boinc]") {
    GpuOffice office{8};
    const std::string reply = office.ask(kWantTwo + gpus(2, 2));
    CHECK(sent(reply) == 3);
    // Each version is described once: in the app version, and in each of its results.
    CHECK(count_of(reply, "<app_version>") == 2);
    CHECK(count_of(reply, "<plan_class>cuda_dedloc</plan_class>") == 3);
    CHECK(count_of(reply, "<plan_class>mt_dedloc</plan_class>") == 2);
    CHECK_THAT(reply, Catch::Contains("<coproc>\n<type>NVIDIA</type>\n<count>1.000000</count>\n"
                                      "</coproc>\n<gpu_ram>"));
    CHECK_THAT(reply, !Catch::Contains("<no_rsc_apps>NVIDIA") &&
                          Catch::Contains("<no_rsc_apps>ATI</no_rsc_apps>"));
    CHECK(office.count("result r join app_version v on v.id = r.app_version_id where "
                       "r.server_state = 4 and v.plan_class = 'cuda_dedloc' and "
                       "r.flops_estimate > 1e13 and r.app_version_num = 101") == 2);
    CHECK(sent(office.ask(kWantTwo + gpus(2, 2), 1, 2)) == 0);  // all seats are taken
}

TEST_CASE("processors and GPUs are asked for separately", "[server][boinc]") {
    GpuOffice office{8};
    std::string reply = office.ask(gpus(1, 1));
    CHECK(sent(reply) == 1);
    CHECK_THAT(reply, Catch::Contains("cuda_dedloc") && !Catch::Contains("mt_dedloc"));
    reply = office.ask(kWantTwo + gpus(1, 0), 1, 2);
    CHECK(sent(reply) == 1);
    // One of the two cores is left for the GPU's task.
    CHECK_THAT(reply, Catch::Contains("mt_dedloc") && !Catch::Contains("cuda_dedloc") &&
                          Catch::Contains("<avg_ncpus>1.000000</avg_ncpus>"));
    // A host without GPU, with both cores.
    reply = office.ask(kWantTwo + std::string{"<allow_multiple_clients/>"});
    CHECK_THAT(reply, Catch::Contains("<avg_ncpus>2.000000</avg_ncpus>"));
}

TEST_CASE("a host is projected by the samples that the project has counted", "[server][boinc]") {
    GpuOffice office{4};
    Database& database = office.project.database();
    database.execute(
        "insert into dedloc_run (id, name, run_id, spec, target_batch, steps, flops_per_sample, "
        "credit_per_sample, created) values (3, 'r', 'a', '{}', 8, 10, 1e9, 0.5, 0)");
    const auto record = [&](const std::string& key, double days_ago, int seconds, int samples,
                            std::string_view plan_class, int host = 1) {
        const auto began = static_cast<std::int64_t>(office.now - days_ago * 86'400);
        database.execute(
            "insert into dedloc_presence values (3, ?, ?, ?, 1, ?, 0, 1, ?, 101, ?, '')",
            {key, began, began + seconds, samples, host, plan_class});
    };
    const auto flops_of = [](const std::string& reply) {
        const auto at = reply.find("<flops>");
        return at == std::string::npos ? 0 : std::stod(reply.substr(at + 7));
    };
    CHECK(flops_of(office.ask(kWantTwo)) == 2e9);  // the benchmark's default, by two cores
    // Neither half an hour, nor of the last 30 days, nor of this host or plan class.
    record("k1", 1, 1'700, 1'000'000, kMultithread);
    record("k2", 31, 3'600, 1'000'000, kMultithread);
    record("k3", 1, 3'600, 1'000'000, kMultithread, 2);
    record("k4", 1, 3'600, 1'000'000, kCuda);
    CHECK(flops_of(office.ask(kWantTwo + report("w0_0"), 1, 2)) == 2e9);
    database.execute("delete from dedloc_presence where peer_key = 'k1'");
    record("k5", 2, 3'000, 30'000, kMultithread);
    record("k6", 3, 1'000, 50'000, kMultithread);
    CHECK(flops_of(office.ask(kWantTwo + report("w1_0"), 1, 3)) == 2e10);
    CHECK(office.result("w2_0").real("flops_estimate") == 2e10);
}

TEST_CASE("a job's description has the size of the files in its slot", "[server][boinc]") {
    GpuOffice office{1};
    office.project.database().execute("update workunit set rsc_disk_bound = 1e6");
    const std::string room = "<disk_usage><d_project_share>";
    CHECK_THAT(office.ask(kWantTwo + room + "5999999</d_project_share></disk_usage>"),
               Catch::Contains("Tasks need 6 MB of disk"));
    CHECK_THAT(office.ask(kWantTwo + room + "6000000</d_project_share></disk_usage>", 1, 2),
               Catch::Contains("<rsc_disk_bound>6000000.000000</rsc_disk_bound>"));
}

TEST_CASE("a plain version serves hosts when there is no other", "[server][boinc]") {
    Office office{1};
    const std::string reply = office.ask(kWantTwo + gpus(1, 1));
    CHECK(sent(reply) == 1);
    CHECK_THAT(reply, Catch::Contains("<plan_class></plan_class>") &&
                          Catch::Contains("<no_rsc_apps>NVIDIA</no_rsc_apps>"));
}

TEST_CASE("a run whose model does not fit a GPU is not sent to it", "[server][boinc]") {
    GpuOffice office{1};
    office.project.database().execute(
        "insert into dedloc_run (name, run_id, spec, target_batch, steps, flops_per_sample, "
        "credit_per_sample, created, gpu_memory) values ('r', '00', '{}', 1, 1, 1, 1, 1, 2e10)");
    office.project.database().execute("update workunit set opaque = 1");
    CHECK_THAT(office.ask(gpus(1, 1)),
               Catch::Contains("need 20000 MB of GPU memory; RTX has 16000 MB free"));
    CHECK(sent(office.ask(kWantTwo + gpus(1, 1), 1, 2)) == 1);
    CHECK(office.count("result r join app_version v on v.id = r.app_version_id where "
                       "r.server_state = 4 and v.plan_class = 'mt_dedloc'") == 1);
}

TEST_CASE("a run that only processors train is not sent to a GPU", "[server][boinc]") {
    GpuOffice office{1};
    office.project.database().execute(
        "insert into dedloc_run (name, run_id, spec, target_batch, steps, flops_per_sample, "
        "credit_per_sample, created, gpu_memory) values ('r', '00', '{}', 1, 1, 1, 1, 1, ?)",
        {formats::kMoreThanAnyGpu});
    office.project.database().execute("update workunit set opaque = 1");
    CHECK_THAT(office.ask(gpus(1, 1)), Catch::Contains("are trained on processors only."));
    CHECK(sent(office.ask(kWantTwo + gpus(1, 1), 1, 2)) == 1);
}

TEST_CASE("a volunteer is told why a GPU or the preferences prevent tasks", "[server][boinc]") {
    GpuOffice office{3};
    Database& database = office.project.database();
    CHECK_THAT(office.ask(gpus(1, 1, "<cudaVersion>12040</cudaVersion>")),
               Catch::Contains("supports CUDA 12.4"));
    database.execute(
        "update user set project_prefs = '<project_preferences>\n<no_cpu>1</no_cpu>\n"
        "<venue name=\"work\">\n<no_cuda>1</no_cuda>\n</venue>\n</project_preferences>\n'");
    std::string reply = office.ask(kWantTwo, 1, 2);
    CHECK(sent(reply) == 0);
    CHECK_THAT(reply, Catch::Contains("preferences for this project do not allow tasks on the "
                                      "processor") &&
                          Catch::Contains("<no_cpu>1</no_cpu>"));
    database.execute("update host set venue = 'work'");
    reply = office.ask(gpus(1, 1), 1, 3);
    CHECK(sent(reply) == 0);
    CHECK_THAT(reply, Catch::Contains("do not allow tasks on the NVIDIA GPU") &&
                          Catch::Contains("<host_venue>work</host_venue>"));
    CHECK(sent(office.ask(kWantTwo, 1, 4)) == 1);
    // A client that is too old for the version, and one that is too old for the project.
    database.execute("update app_version set min_core_version = 72400");
    office.now += kCatalogueSeconds;
    const std::string client =
        "<core_client_major_version>7</core_client_major_version>"
        "<core_client_minor_version>20</core_client_minor_version>";
    CHECK_THAT(office.ask(gpus(1, 1) + client + "<allow_multiple_clients/>"),
               Catch::Contains("too old for T &amp; T: version 7.24.0 or newer is needed"));
    office.config.min_client_version = 72'100;
    CHECK_THAT(office.ask(gpus(1, 1) + client + "<allow_multiple_clients/>"),
               Catch::Contains("too old for this project: version 7.21.0 or newer"));
}

TEST_CASE("a host with a kernel that is too old gets no tasks, and is told", "[server][boinc]") {
    Office office{1};
    office.project.database().execute(
        "insert into dedloc_app_version (id, kernel_major, kernel_minor) select id, 3, 2 from "
        "app_version");
    office.system = "CentOS Linux 6 [2.6.32-754.el6.x86_64|libc 2.12]";
    const std::string refused = office.ask(kWantTwo);
    CHECK(sent(refused) == 0);
    CHECK_THAT(refused, Catch::Contains("its kernel is Linux 2.6, and 3.2 or newer is needed"));
    office.system = "Debian GNU/Linux 12 (bookworm) [3.2|libc 2.36]";
    CHECK(sent(office.ask(kWantTwo, 1, 2)) == 1);
}

TEST_CASE("memory is what the preferences leave of it", "[server][boinc]") {
    Office office{1};
    office.project.database().execute("update workunit set rsc_memory_bound = 5e9");
    const std::string half =
        "<working_global_preferences><global_preferences>"
        "<ram_max_used_busy_pct>50</ram_max_used_busy_pct><ram_max_used_idle_pct>50"
        "</ram_max_used_idle_pct></global_preferences></working_global_preferences>";
    CHECK_THAT(office.ask(kWantTwo + half),
               Catch::Contains("Tasks need 5000 MB of memory; this computer has 4000 MB that BOINC "
                               "may use."));
    CHECK(sent(office.ask(kWantTwo, 1, 2)) == 1);
}

TEST_CASE("the newer computing preferences of an account win", "[server][boinc]") {
    Office office{0};
    const auto preferences = [](int time, const std::string& hash) {
        return "<global_preferences>\n<mod_time>" + std::to_string(time) +
               "</mod_time>\n</global_preferences>\n<global_prefs_source_email_hash>" + hash +
               "</global_prefs_source_email_hash>";
    };
    const std::string own = md5_of_text("a@b");
    const auto stored = [&] {
        return office.project.database()
            .query_one("select global_prefs from user")
            ->text("global_prefs");
    };
    CHECK_THAT(office.ask(""), !Catch::Contains("<global_preferences>"));
    office.ask(preferences(50, md5_of_text("another account")), 1, 2);
    CHECK(stored().empty());
    office.ask(preferences(50, own), 1, 3);
    CHECK_THAT(stored(), Catch::Contains("<mod_time>50</mod_time>"));
    CHECK_THAT(office.ask("", 1, 4), Catch::Contains("<mod_time>50</mod_time>"));
    CHECK_THAT(office.ask(preferences(50, own), 1, 5), !Catch::Contains("<mod_time>"));
    CHECK_THAT(office.ask(preferences(40, own), 1, 6), Catch::Contains("<mod_time>50</mod_time>"));
    CHECK_THAT(stored(), Catch::Contains("<mod_time>50</mod_time>"));
}

TEST_CASE("a new host has the venue of its account", "[server][boinc]") {
    Office office{0};
    office.project.database().execute("update user set venue = 'school'");
    CHECK_THAT(office.ask(""), Catch::Contains("<host_venue>school</host_venue>"));
    CHECK(office.count("host where venue = 'school'") == 1);
}

}  // namespace dedloc::server
