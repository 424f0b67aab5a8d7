// A request that is damaged at one element: everything outside it is read as before. Every element
// of requests that stock clients have sent is damaged in every way, one at a time.
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "project_server/scheduler/request.hpp"
#include "tests/project_server/scheduler/captured.hpp"

namespace dedloc::server {
namespace {

/// What a request says, by the path of the element that says it.
using Said = std::map<std::string, std::string>;

std::string reported(const std::string& name) {
    return "<result>\n    <name>" + name +
           "</name>\n    <final_cpu_time>1.5</final_cpu_time>\n    <exit_status>0</exit_status>\n"
           "    <state>5</state>\n<stderr_out>\n<![CDATA[\n<stderr_txt>\nof " +
           name + "\n</stderr_txt>\n]]>\n</stderr_out>\n<file_info>\n    <name>" + name +
           "_0</name>\n    <nbytes>3.000000</nbytes>\n</file_info>\n<file_info>\n    <name>" +
           name + "_1</name>\n    <nbytes>4.000000</nbytes>\n</file_info>\n</result>\n";
}

std::string message(const std::string& result) {
    return "  <msg_from_host>\n      <result_name>" + result +
           "</result_name>\n      <time>1</time>\n<variety>v_" + result + "</variety>\n17\n" +
           "  </msg_from_host>\n";
}

/// A captured request with more results, messages and other results.
std::string whole_request(const std::string& name) {
    std::string text = captured(name);
    const auto at = text.find("<app_versions>");
    REQUIRE(at != std::string::npos);
    text.insert(at, reported("first_0") + reported("second_0") + reported("third_0") +
                        message("first_0") + message("second_0"));
    const auto others = text.find("<other_results>");
    REQUIRE(others != std::string::npos);
    text.insert(others + 15,
                "\n    <other_result>\n        <name>held_0</name>\n        "
                "<app_version>0</app_version>\n    </other_result>\n    <other_result>\n        "
                "<name>held_1</name>\n    </other_result>\n");
    return text;
}

void add_host(const HostReport& host, Said& said) {
    const auto number = [](auto value) { return std::to_string(value); };
    said["/host_info/timezone"] = number(host.timezone);
    said["/host_info/domain_name"] = host.domain_name;
    said["/host_info/ip_addr"] = host.ip_address;
    said["/host_info/host_cpid"] = host.cpid;
    said["/host_info/p_ncpus"] = number(host.cores);
    said["/host_info/p_vendor"] = host.processor_vendor;
    said["/host_info/p_model"] = host.processor_model;
    said["/host_info/p_fpops"] = number(host.flops);
    said["/host_info/os_name"] = host.os_name;
    said["/host_info/os_version"] = host.os_version;
    said["/host_info/m_nbytes"] = number(host.memory_bytes);
    said["/host_info/d_free"] = number(host.disk_free);
    said["/time_stats/on_frac"] = number(host.on_fraction);
    said["/disk_usage/d_project_share"] = number(host.disk_share_of_project);
    said["/net_stats/bwup"] = number(host.upload_bandwidth);
    for (const Coprocessor& coprocessor : host.coprocessors) {
        said["/coprocs/coproc_cuda/name"] = coprocessor.name;
        said["/coprocs/coproc_cuda/count"] = number(coprocessor.count);
        said["/coprocs/coproc_cuda/peak_flops"] = number(coprocessor.peak_flops);
    }
}

Said said_by(const SchedulerRequest& request) {
    Said said;
    said["/authenticator"] = request.authenticator;
    said["/hostid"] = std::to_string(request.host_id);
    said["/rpc_seqno"] = std::to_string(request.sequence.value_or(-1));
    said["/core_client_minor_version"] = std::to_string(request.version_minor);
    said["/allow_multiple_clients"] = std::to_string(request.allows_multiple_clients);
    said["/cpu_req_secs"] = std::to_string(request.wanted_cpu_seconds);
    said["/cpu_req_instances"] = std::to_string(request.idle_cores);
    said["/platform_name"] = request.platforms.empty() ? "" : request.platforms.front();
    said["/code_sign_key"] = request.code_sign_key;
    said["/working_global_preferences/global_preferences/ram_max_used_idle_pct"] =
        std::to_string(request.preferences.idle_ram_fraction);
    add_host(request.host, said);
    said["/coprocs/coproc_cuda/req_secs"] = std::to_string(request.nvidia.wanted_seconds);
    said["/coprocs/coproc_cuda/totalGlobalMem"] = std::to_string(request.nvidia.memory_bytes);
    for (const ReportedResult& result : request.reports) {
        const std::string path = "/result " + result.name;
        said[path + "/name"] = result.name;
        said[path + "/final_cpu_time"] = std::to_string(result.cpu_seconds);
        said[path + "/exit_status"] = std::to_string(result.exit_status.value_or(-1));
        said[path + "/state"] = std::to_string(result.client_state.value_or(-1));
        said[path + "/stderr_out"] = result.standard_error;
        said[path + "/file_info"] = result.output_files;
    }
    for (const HostMessage& one : request.messages) {
        said["/msg_from_host " + one.result] = one.variety + one.body;
    }
    if (request.other_results) {
        for (const std::string& name : *request.other_results) said["/other_results/" + name] = "";
    }
    return said;
}

/// An element of a text that is well-formed.
struct Place {
    std::string path;  ///< as Said has it
    std::size_t begin = 0;
    std::size_t body = 0;
    std::size_t closing = 0;
    std::size_t end = 0;
    std::string name{};
};

/// All elements inside `text` from `from` to `to`; a second implementation, for well-formed texts.
void find_places(const std::string& text, std::size_t from, std::size_t to, const std::string& path,
                 std::vector<Place>& places) {
    for (std::size_t at = text.find('<', from); at < to; at = text.find('<', at)) {
        if (text.compare(at, 9, "<![CDATA[") == 0) {
            at = text.find("]]>", at) + 3;
            continue;
        }
        const std::size_t close = text.find('>', at);
        Place place{.path = path,
                    .begin = at,
                    .body = close + 1,
                    .closing = close + 1,
                    .end = close + 1,
                    .name = text.substr(at + 1, close - at - 1)};
        if (place.name.ends_with('/')) {
            place.name.pop_back();
        } else {
            const std::string closing = "</" + place.name + ">";
            place.closing = text.find(closing, close);
            place.end = place.closing + closing.size();
        }
        // Results, messages and held jobs go by their names.
        const std::string body = text.substr(place.body, place.closing - place.body);
        const auto named = [&](const std::string& element) {
            const auto begin = body.find("<" + element + ">") + element.size() + 2;
            return body.substr(begin, body.find('<', begin) - begin);
        };
        if (place.name == "other_result") {
            place.path += "/" + named("name");
        } else {
            place.path += "/" + place.name;
            if (place.name == "result") place.path += " " + named("name");
            if (place.name == "msg_from_host") place.path += " " + named("result_name");
        }
        places.push_back(place);
        find_places(text, place.body, place.closing, place.path, places);
        at = place.end;
    }
}

std::vector<Place> places_in(const std::string& text) {
    std::vector<Place> places;
    const std::size_t from = text.find("<scheduler_request>") + 19;
    find_places(text, from, text.rfind("</scheduler_request>"), "", places);
    return places;
}

/// A way to damage an element.
struct Damage {
    const char* what;
    std::function<std::string(const std::string&, const Place&)> apply;
};

std::string replaced(std::string text, std::size_t at, std::size_t length, const std::string& by) {
    return text.replace(at, length, by);
}

const std::vector<Damage>& damages() {
    using T = const std::string&;
    using P = const Place&;
    static const std::vector<Damage> all{
        {"no opening tag", [](T t, P p) { return replaced(t, p.begin, p.body - p.begin, ""); }},
        {"no closing tag", [](T t, P p) { return replaced(t, p.closing, p.end - p.closing, ""); }},
        {"opening tag misspelt", [](T t, P p) { return replaced(t, p.begin + 1, 1, "X"); }},
        {"closing tag misspelt",
         [](T t, P p) { return p.end > p.closing ? replaced(t, p.end - 2, 1, "X") : t; }},
        {"opening tag without <", [](T t, P p) { return replaced(t, p.begin, 1, ""); }},
        {"opening tag without >", [](T t, P p) { return replaced(t, p.body - 1, 1, ""); }},
        {"closing tag without <",
         [](T t, P p) { return p.end > p.closing ? replaced(t, p.closing, 1, "") : t; }},
        {"closing tag without >",
         [](T t, P p) { return p.end > p.closing ? replaced(t, p.end - 1, 1, "") : t; }},
        {"a tag that closes nothing", [](T t, P p) { return replaced(t, p.body, 0, "</b>"); }},
        {"a tag that opens nothing", [](T t, P p) { return replaced(t, p.body, 0, "<b>"); }},
        {"a <", [](T t, P p) { return replaced(t, p.body, 0, "< "); }},
        {"a comment without end", [](T t, P p) { return replaced(t, p.body, 0, "<!--"); }},
        {"CDATA without end", [](T t, P p) { return replaced(t, p.body, 0, "<![CDATA["); }},
        {"an end of CDATA", [](T t, P p) { return replaced(t, p.body, 0, "]]>"); }},
        {"a control character", [](T t, P p) { return replaced(t, p.body, 0, "\x01"); }},
        {"a byte 0", [](T t, P p) { return replaced(t, p.body, 0, std::string(1, '\0')); }},
        {"a byte that is no UTF-8", [](T t, P p) { return replaced(t, p.body, 0, "\xFF"); }},
        {"an unknown entity", [](T t, P p) { return replaced(t, p.body, 0, "&nosuch;"); }},
        {"twice",
         [](T t, P p) { return replaced(t, p.end, 0, t.substr(p.begin, p.end - p.begin)); }},
        {"half of it",
         [](T t, P p) {
             const std::size_t half = (p.end - p.begin) / 2;
             return replaced(t, p.begin + half, p.end - p.begin - half, "");
         }},
        {"huge", [](T t, P p) { return replaced(t, p.body, 0, std::string(100'000, 'x')); }},
        {"an attribute", [](T t, P p) { return replaced(t, p.body - 1, 0, " a=\"b\""); }},
    };
    return all;
}

/// Whether what is said at `path` may change if the element at `damaged` is damaged: it says it, or
/// it names the whole of which it is a part.
bool may_change(const std::string& path, const std::string& damaged) {
    if (path == damaged || path.starts_with(damaged + "/")) return true;
    if (damaged.starts_with(path + "/")) return true;  // it is told as it is
    const auto parent = damaged.substr(0, damaged.rfind('/'));
    const std::string last = damaged.substr(damaged.rfind('/') + 1);
    if (last == "name" && parent.starts_with("/result ") && path.starts_with(parent)) {
        return damaged.find("/file_info") == std::string::npos || path.ends_with("/file_info");
    }
    if (parent.starts_with("/result ") && parent.ends_with("/file_info")) {
        return path == parent;
    }
    return parent.starts_with("/msg_from_host ") && path == parent;
}

}  // namespace

TEST_CASE("of a damaged request one element is lost", "[server][boinc]") {
    for (const char* const file : {"request-report.xml", "request-gpu.xml"}) {
        const std::string text = whole_request(file);
        const auto request = parse_scheduler_request(text);
        REQUIRE(request);
        REQUIRE(request->reports.size() >= 3);
        const Said before = said_by(*request);
        REQUIRE(before.contains("/result second_0/exit_status"));
        REQUIRE(before.contains("/other_results/held_1"));
        REQUIRE(before.contains("/msg_from_host second_0"));
        const auto places = places_in(text);
        REQUIRE(places.size() > 150);
        for (const Place& place : places) {
            for (const Damage& damage : damages()) {
                INFO(file << ": " << place.path << ": " << damage.what);
                const auto damaged = parse_scheduler_request(damage.apply(text, place));
                if (place.path == "/authenticator" && !damaged) continue;
                REQUIRE(damaged);
                Said after = said_by(*damaged);
                for (const auto& [path, value] : before) {
                    if (may_change(path, place.path)) continue;
                    INFO(path);
                    REQUIRE(after.contains(path));
                    REQUIRE(after[path] == value);
                }
            }
        }
    }
}

TEST_CASE("a damaged message is not acknowledged with the others", "[server][boinc]") {
    const std::string text = whole_request("request-report.xml");
    CHECK_FALSE(parse_scheduler_request(text)->lost_messages);
    for (const std::string tag :
         {"<msg_from_host>", "</msg_from_host>", "<result_name>", "</variety>"}) {
        INFO(tag);
        std::string damaged = text;
        damaged.erase(damaged.rfind(tag), 1);
        const auto request = parse_scheduler_request(damaged);
        REQUIRE(request);
        CHECK(request->lost_messages);
        CHECK(request->messages.size() == 1);
    }
}

TEST_CASE("damaged preferences replace none", "[server][boinc]") {
    const std::string preferences =
        "<global_preferences>\n<mod_time>9</mod_time>\n</global_preferences>\n";
    const auto parse = [](const std::string& elements) {
        return parse_scheduler_request("<scheduler_request><authenticator>a</authenticator>" +
                                       elements + "</scheduler_request>");
    };
    const std::string working =
        "<working_global_preferences>\n" + preferences + "</working_global_preferences>\n";
    CHECK(parse(working)->account_preferences.empty());
    CHECK(parse(working + preferences)->account_preferences + "\n" == preferences);
    for (const char* const tag : {"<working_global_preferences>", "</working_global_preferences>",
                                  "<mod_time>", "</global_preferences>"}) {
        std::string damaged = working + preferences;
        damaged.erase(
            std::string_view{tag}.starts_with("<w") ? damaged.find(tag) : damaged.rfind(tag),
            std::string_view{tag}.size());
        INFO(tag);
        CHECK(parse(damaged)->account_preferences.empty());
        CHECK(parse(damaged)->lost_preferences);
    }
}

TEST_CASE("a report without an end is no report", "[server][boinc]") {
    for (const std::string damaged :
         {"<exit_status>0</exit_statu>", "<exit_status>0x</exit_status>",
          "<exit_status></exit_status>", "<exit_statu>0</exit_status>"}) {
        INFO(damaged);
        const auto request = parse_scheduler_request(
            "<scheduler_request><authenticator>a</authenticator><result><name>r_0</name>" +
            damaged + "<state>5</state></result></scheduler_request>");
        REQUIRE(request);
        REQUIRE(request->reports.size() == 1);
        CHECK_FALSE(request->reports.front().is_complete());
        CHECK(request->reports.front().client_state == 5);
    }
}

}  // namespace dedloc::server
