// Scheduler requests of BOINC clients: the reader of BOINC's loose XML, and what it makes of a
// request.
#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>

#include "peer/base/check.hpp"
#include "peer/base/markup.hpp"
#include "project_server/scheduler/request.hpp"
#include "project_server/xml/xml.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace dedloc::fuzz {
namespace {

/// As every column takes it.
void check_text(const std::string& text, std::size_t limit = 254) {
    DEDLOC_CHECK(text.size() <= limit, "a text keeps its limit", text.size());
    DEDLOC_CHECK(valid_text(text) == text, "a text is valid UTF-8", text);
}

void check_elements(std::string_view text) {
    server::XmlReader reader{text};
    const char* end_of_last = text.data();
    while (const auto element = reader.next()) {
        const std::string_view whole = element->whole;
        DEDLOC_CHECK(whole.data() >= end_of_last, "elements follow each other");
        end_of_last = whole.data() + whole.size();
        DEDLOC_CHECK(end_of_last <= text.data() + text.size(), "an element is part of the text");
        DEDLOC_CHECK(element->name.size() + element->body.size() + 2 <= whole.size(),
                     "an element holds its name and its body");
        check_text(server::text_value(element->body));
        DEDLOC_CHECK(std::isfinite(server::real_value(element->body)), "a number is finite");
        const std::string escaped = escape_markup(element->body);
        DEDLOC_CHECK(escaped.find_first_of("<>\"'") == std::string::npos, "no markup is left");
    }
}

void check_host(const server::HostReport& host) {
    DEDLOC_CHECK(host.cores >= 1 && host.cores <= 4'096, "a computer has cores", host.cores);
    DEDLOC_CHECK(host.gpus >= 0, "no computer has fewer than no GPUs", host.gpus);
    for (const std::string* text : {&host.domain_name, &host.ip_address, &host.cpid,
                                    &host.processor_vendor, &host.processor_model, &host.os_name,
                                    &host.os_version, &host.product_name, &host.serial}) {
        check_text(*text);
    }
    for (const double number : {host.flops, host.iops, host.memory_bytes, host.disk_total,
                                host.on_fraction, host.upload_bandwidth, host.download_bandwidth}) {
        DEDLOC_CHECK(std::isfinite(number), "a number is finite");
    }
}

}  // namespace

void fuzz_scheduler_request(std::span<const std::byte> input) {
    const std::string_view text{reinterpret_cast<const char*>(input.data()), input.size()};
    check_elements(text);
    const auto request = server::parse_scheduler_request(text);
    if (!request) return;
    DEDLOC_CHECK(!request->authenticator.empty(), "a request names an account");
    check_text(request->authenticator);
    check_text(request->code_sign_key, 4'096);
    check_host(request->host);
    DEDLOC_CHECK(request->reports.size() <= server::kMaxReports, "reports are bounded");
    for (const server::ReportedResult& report : request->reports) {
        DEDLOC_CHECK(!report.name.empty(), "a report names its result");
        check_text(report.name);
        check_text(report.standard_error, input.size());
    }
    DEDLOC_CHECK(request->messages.size() <= server::kMaxMessages, "messages are bounded");
    for (const server::HostMessage& message : request->messages) check_text(message.variety);
    if (!request->other_results) return;
    DEDLOC_CHECK(request->other_results->size() <= server::kMaxOtherResults, "names are bounded");
    std::ranges::for_each(*request->other_results, [](const auto& name) { check_text(name); });
}

}  // namespace dedloc::fuzz
