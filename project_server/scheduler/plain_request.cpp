#include "project_server/scheduler/plain_request.hpp"

#include <algorithm>
#include <string>

namespace dedloc::server {
namespace {

void make_plain(std::string& text, std::size_t limit) {
    text.resize(std::min(text.size(), limit));
    std::ranges::replace_if(
        text, [](unsigned char c) { return c >= 0x7F || (c < 0x20 && c != '\n'); }, '?');
}

}  // namespace

SchedulerRequest plain_request(SchedulerRequest request, const PlainLimits& limits) {
    HostReport& host = request.host;
    for (std::string* const text :
         {&host.domain_name, &host.ip_address, &host.processor_vendor, &host.processor_model,
          &host.os_name, &host.os_version, &host.product_name, &host.serial}) {
        make_plain(*text, limits.name);
    }
    for (ReportedResult& report : request.reports) {
        make_plain(report.standard_error, limits.document);
        make_plain(report.output_files, limits.document);
    }
    if (!request.messages.empty()) {
        request.messages.clear();
        request.message_refusal = "the project cannot store a value of this request";
    }
    request.account_preferences.clear();
    return request;
}

}  // namespace dedloc::server
