#include "project_server/scheduler/request.hpp"

#include <catch2/catch.hpp>

#include "tests/project_server/scheduler/captured.hpp"

namespace dedloc::server {

TEST_CASE("a stock client's request for work is parsed", "[server][boinc]") {
    const auto request = parse_scheduler_request(captured("request-work.xml"));
    REQUIRE(request);
    CHECK(request->authenticator == "b9a19d6e1497b952834ee59be9a7c39d");
    CHECK(request->host_id == 1);
    CHECK(request->sequence == 2);
    CHECK(request->version_major == 7);
    CHECK(request->allows_multiple_clients);
    CHECK(request->wanted_cpu_seconds == 1728);
    CHECK(request->idle_cores == 2);
    REQUIRE(request->platforms.size() == 2);
    CHECK(request->platforms[0] == "x86_64-pc-linux-gnu");
    CHECK(request->code_sign_key.starts_with("1024"));
    CHECK(request->host.cores == 2);
    CHECK(request->host.processor_vendor == "GenuineIntel");
    CHECK(request->host.on_fraction == 1);
    CHECK(request->host.memory_bytes > 1e9);
    REQUIRE(request->other_results);
    CHECK(request->other_results->empty());
}

TEST_CASE("a stock client's report is parsed", "[server][boinc]") {
    const auto request = parse_scheduler_request(captured("request-report.xml"));
    REQUIRE(request);
    REQUIRE(request->reports.size() == 1);
    const ReportedResult& report = request->reports[0];
    CHECK(report.name == "dedloc_train_4043_1795207745.664259_0");
    CHECK(report.exit_status == 0);
    CHECK(report.client_state == 5);
    CHECK(report.elapsed_seconds == 61.148661);
    CHECK(report.peak_swap == 73998336);
    CHECK(report.standard_error.find("called boinc_finish(0)") != std::string::npos);
    CHECK(report.output_files.find("b3ff3159e2f43d2de8483f55872c7a3f") != std::string::npos);
    CHECK(report.output_files.find("4f1ff6171610356f5f7886a43d7936af") != std::string::npos);
    CHECK(request->host.gpus == 1);
    CHECK(request->host.serial == "[CUDA|Fake RTX 4080|1|16384MB|0|0][BOINC|7.20.5]");
}

TEST_CASE("an invalid or truncated request is refused", "[server]") {
    const std::string whole = captured("request-report.xml");
    for (std::size_t size = 0; size < whole.size() - 20; size += 97) {
        CHECK_FALSE(parse_scheduler_request(std::string_view{whole}.substr(0, size)));
    }
    CHECK_FALSE(parse_scheduler_request("<scheduler_request></scheduler_request>"));
}

TEST_CASE("a client's version is a number whatever it says", "[server]") {
    const auto version_of = [](const std::string& number) {
        const auto request = parse_scheduler_request(
            "<scheduler_request><authenticator>key</authenticator><core_client_major_version>" +
            number + "</core_client_major_version><core_client_minor_version>" + number +
            "</core_client_minor_version></scheduler_request>");
        REQUIRE(request);
        return request->client_version();
    };
    CHECK(version_of("7") == 70'700);
    CHECK(version_of("2147483647") >= version_of("7"));
    CHECK(version_of("-2147483648") == 0);
}

TEST_CASE("a request cannot make the server store unbounded data", "[server]") {
    std::string text = "<scheduler_request><authenticator>a</authenticator>";
    for (int i = 0; i < 5000; ++i) {
        text += "<result><name>r" + std::to_string(i) + "</name></result>";
        text += "<msg_from_host><variety>v</variety>x</msg_from_host>";
    }
    text += "<result><name>last</name><stderr_out>" + std::string(200'000, 'e') +
            "</stderr_out></result></scheduler_request>";
    const auto request = parse_scheduler_request(text);
    REQUIRE(request);
    CHECK(request->reports.size() == kMaxReports);
    CHECK(request->messages.size() == kMaxMessages);
    CHECK_THAT(request->message_refusal, Catch::Contains("more than 1000 messages"));
}

}  // namespace dedloc::server
