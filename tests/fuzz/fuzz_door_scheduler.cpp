// Scheduler requests at the real door: stock requests with odd values in them, from one account,
// and after them the request of another one, whose result, message and wish for work must get what
// they always get.
#include <boinc_db_types.h>
#include <fmt/format.h>

#include <array>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include "peer/base/check.hpp"
#include "peer/formats/receipt.hpp"
#include "peer/platform/files.hpp"
#include "tests/fuzz/door_world.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace dedloc::fuzz {
namespace {

constexpr std::size_t kMaxChanges = 4;

std::string captured(const char* name) {
    std::ifstream file{std::string{DEDLOC_CAPTURED} + "/" + name};
    std::string text{std::istreambuf_iterator<char>{file}, {}};
    DEDLOC_CHECK(!text.empty(), "a captured request is there", name);
    return text;
}

/// Replaces the text of the first element of this name that has no elements.
void set(std::string& xml, const std::string& name, const std::string& text) {
    const std::string open = "<" + name + ">";
    const auto begin = xml.find(open);
    if (begin == std::string::npos) return;
    const auto end = xml.find("</" + name + ">", begin);
    xml.replace(begin + open.size(), end - begin - open.size(), text);
}

std::string message_of(const Person& person, const std::string& text) {
    return fmt::format(
        "<msg_from_host>\n<result_name>{0}</result_name>\n<time>1</time>\n<variety>{1}</variety>\n"
        "<result_name>{0}</result_name>\n<text>{2}</text>\n</msg_from_host>\n",
        person.result, formats::kCreditMessage, text);
}

/// What a person's client sends: a captured request with its account, its computer, and elements
/// that differ from request to request.
std::string request_of(const DoorProject& project, const Person& person, std::string xml,
                       const std::string& more) {
    set(xml, "code_sign_key",
        platform::read_text(project.config().key_directory / "code_sign_public"));
    set(xml, "authenticator", person.key);
    set(xml, "hostid", std::to_string(person.host));
    set(xml, "host_cpid", person.cpid);
    const std::string end = "</scheduler_request>";
    const auto at = xml.rfind(end);
    DEDLOC_CHECK(at != std::string::npos, "a captured request is whole");
    return xml.insert(at, more);
}

std::string report_of(const Person& person, const std::string& error_text) {
    return fmt::format(
        "<result>\n<name>{}</name>\n<final_cpu_time>1.5</final_cpu_time>\n<final_elapsed_time>2"
        "</final_elapsed_time>\n<exit_status>0</exit_status>\n<state>5</state>\n<platform>"
        "x86_64-pc-linux-gnu</platform>\n<version_num>100</version_num>\n<stderr_out>\n{}\n"
        "</stderr_out>\n<file_info>\n<name>out</name>\n<nbytes>10</nbytes>\n</file_info>\n"
        "</result>\n",
        person.result, error_text);
}

std::string odd_request(const DoorProject& project, Recipe& recipe) {
    const Person& person = project.odd();
    static const std::string work = captured("request-work.xml");
    static const std::string report = captured("request-report.xml");
    static const std::string gpu = captured("request-gpu.xml");
    std::string more;
    const std::size_t kind = recipe.choose(8);
    if (kind % 2 == 1) more += report_of(person, "an error");
    if (kind / 2 % 2 == 1) more += message_of(person, "a message");
    if (kind / 4 == 1) {
        more += "<other_results>\n<other_result>\n<name>" + person.result +
                "</name>\n</other_result>\n</other_results>\n";
    }
    const std::string& base = *std::array{&work, &report, &gpu}[recipe.choose(3)];
    std::string xml = request_of(project, person, base, more);
    for (std::size_t left = recipe.choose(kMaxChanges + 1); left > 0; --left) {
        make_odd(xml, recipe, project.known_values());
    }
    return xml;
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::string without_blanks(std::string text) {
    std::erase_if(text, [](char c) { return c == ' ' || c == '\n' || c == '\t'; });
    return text;
}

/// What the odd client was told is true: its result is over, and its message stored.
void check_acknowledged(DoorProject& project, const std::string& request, const Answer& answer) {
    const auto row = project.database().query_one(
        "select server_state from result where name = ? and userid = ?",
        {project.odd().result, project.odd().user});
    const std::string acknowledged = "<result_ack><name>" + project.odd().result + "</name>";
    const bool is_over = row && row->integer("server_state") == RESULT_SERVER_STATE_OVER;
    DEDLOC_CHECK(!contains(without_blanks(answer.body), acknowledged) || is_over,
                 "an acknowledged result is stored", request, answer.body);
}

/// The account that nothing odd comes from: its result is acknowledged and stored with its text,
/// its message, too, and it gets work.
void check_honest(DoorProject& project) {
    static const std::string work = captured("request-work.xml");
    const Person& honest = project.honest();
    const std::string error_text = "all is well";
    const Answer answer = project.web(
        {.target = "/cgi/scheduler",
         .body = request_of(project, honest, work,
                            report_of(honest, error_text) + message_of(honest, "progress")),
         .address = honest.address,
         .type = "text/xml"});
    const auto has = [&](const std::string& part) {
        DEDLOC_CHECK(contains(answer.body, part), "an honest client gets what it always gets", part,
                     answer.body);
    };
    has("<name>" + honest.result + "</name>");
    has("<result_ack>");
    has("<message_ack>");
    has("<workunit>");
    DEDLOC_CHECK(!contains(answer.body, "<hostid>"), "an honest computer keeps its id",
                 answer.body);
    const auto row = project.database().query_one(
        "select server_state, outcome, hostid, stderr_out from result where name = ?",
        {honest.result});
    DEDLOC_CHECK(row && row->integer("server_state") == RESULT_SERVER_STATE_OVER &&
                     row->integer("outcome") == RESULT_OUTCOME_SUCCESS &&
                     row->integer("hostid") == honest.host &&
                     contains(row->text("stderr_out"), error_text),
                 "an honest result is stored", answer.body);
    const auto message = project.database().query_one(
        "select count(*) as n from msg_from_host where hostid = ? and locate('progress', xml) > 0",
        {honest.host});
    DEDLOC_CHECK(message->integer("n") == 1, "an honest message is stored", answer.body);
}

std::string send_odd(DoorProject& project, Recipe& recipe) {
    const std::string request = odd_request(project, recipe);
    const Answer answer = project.web({.target = "/cgi/scheduler",
                                       .body = request,
                                       .address = project.odd().address,
                                       .type = "text/xml"});
    check_acknowledged(project, request, answer);
    return request;
}

}  // namespace

void fuzz_door_scheduler(std::span<const std::byte> input) {
    Recipe recipe{input};
    check_honest(send_odd_requests(recipe, send_odd));
}

}  // namespace dedloc::fuzz
