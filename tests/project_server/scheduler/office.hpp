// A project with a scheduler, and requests to it.
#pragma once

#include <boinc_db_types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "project_server/publishing/keys.hpp"
#include "project_server/scheduler/scheduler.hpp"
#include "tests/project_server/project_fixture.hpp"

namespace dedloc::server {

/// A project with one app, one account and a given number of unsent jobs.
struct Office {
    TestProject project;
    ProjectConfig config = project.config();
    std::unique_ptr<Scheduler> scheduler;
    double now = 1'800'000'000;

    explicit Office(int jobs, int daily_jobs_per_seat = 0) {
        make_key_pair(project.config().key_directory, "code_sign");
        config.daily_jobs_per_seat = daily_jobs_per_seat;
        scheduler = std::make_unique<Scheduler>(config);
        Database& database = project.database();
        database.execute(
            "insert into user (name, email_addr, authenticator) "
            "values ('A <b> & c', 'a@b', 'key')");
        database.execute("insert into app (name, user_friendly_name) values ('train', 'T & T')");
        database.execute(
            "insert into app_version (appid, version_num, platformid, xml_doc) select 1, 100, id, "
            "'<app_version>\n</app_version>\n' from platform where name = 'x86_64-pc-linux-gnu'");
        for (int i = 0; i < jobs; ++i) {
            const std::string name = "w" + std::to_string(i);
            database.execute(
                "insert into workunit (name, appid, xml_doc, delay_bound, "
                "transition_time) values (?, 1, '<workunit>\n</workunit>\n', 100, ?)",
                {name, INT32_MAX});
            database.execute(
                "insert into result (name, workunitid, appid, server_state, "
                "xml_doc_in) values (?, ?, 1, 2, '<result>\n</result>\n')",
                {name + "_0", database.insert_id()});
        }
    }
    /// What the clients report as their operating system.
    std::string system{};
    /// A client's request; `extra` are more of its elements.
    std::string request(const std::string& extra, int host, int sequence) const {
        return "<scheduler_request><authenticator>key</authenticator><hostid>" +
               std::to_string(host) + "</hostid><rpc_seqno>" + std::to_string(sequence) +
               "</rpc_seqno><platform_name>x86_64-pc-linux-gnu</platform_name>" +
               "<host_info><p_ncpus>2</p_ncpus><m_nbytes>8e9</m_nbytes>" + "<os_version>" + system +
               "</os_version><host_cpid>c</host_cpid><d_free>1e11</d_free></host_info>" + extra +
               "</scheduler_request>";
    }
    std::string ask(const std::string& extra, int host = 0, int sequence = 1) {
        now += 1;
        return scheduler->serve(project.database(), request(extra, host, sequence), "10.0.0.1",
                                now);
    }
    Row result(const std::string& name) {
        return *project.database().query_one("select * from result where name = ?", {name});
    }
    std::int64_t count(const std::string& what) {
        return project.database().query_one("select count(*) as n from " + what)->integer("n");
    }
};

/// A request for work for two idle cores.
inline constexpr const char* kWantTwo =
    "<cpu_req_secs>100</cpu_req_secs><cpu_req_instances>2</cpu_req_instances>";
/// A <result> that the client reports.
inline std::string report(const std::string& name, int exit_status = 0, int state = 5) {
    return "<result><name>" + name + "</name><exit_status>" + std::to_string(exit_status) +
           "</exit_status><state>" + std::to_string(state) +
           "</state><stderr_out>hi</stderr_out></result>";
}
/// Number of jobs in a reply.
inline int sent(const std::string& reply) {
    int jobs = 0;
    for (std::size_t at = 0; (at = reply.find("<workunit>", at)) != std::string::npos; ++at) ++jobs;
    return jobs;
}

}  // namespace dedloc::server
