#include "project_server/check/public_address.hpp"

#include <fmt/format.h>

#include "peer/base/error.hpp"
#include "peer/formats/enrolment.hpp"
#include "peer/net/gateway/http_request.hpp"
#include "project_server/check/checks.hpp"
#include "project_server/official/apache.hpp"

namespace dedloc::check {
namespace {

constexpr long kOk = 200;
constexpr long kUnavailable = 503;
constexpr std::size_t kMaxBytes = 1 << 20;  ///< limit of the answer, which may be any page

bool is_report_of(const std::string& body, const server::Settings& settings) {
    try {
        return formats::parse_gateway_report(body).project == settings.name;
    } catch (const InputError&) {
        return false;
    }
}

std::string advice_for(const std::filesystem::path& project, const server::Settings& settings) {
    if (!server::is_official(project)) {
        return fmt::format("whatever is in front of the project must forward {}dedloc/",
                           settings.url);
    }
    return fmt::format(
        "put the line {} into the <VirtualHost> of the project, enable proxy_http and reload "
        "Apache; and see bin/status -v whether dedloc-gateway runs",
        official::apache_line(project));
}

}  // namespace

PublicAddress ask_public_address(const std::filesystem::path& project,
                                 const server::Settings& settings, std::chrono::seconds timeout) {
    const auto end = std::chrono::steady_clock::now() + timeout;
    const std::string url = settings.url + "dedloc/report";
    const auto answer = net::ask({.url = url + "?port=0", .max_bytes = kMaxBytes},
                                 [&] { return std::chrono::steady_clock::now() >= end; });
    if (answer.status == 0) {
        return {.answer = PublicAnswer::kNothing,
                .sentence = fmt::format("nothing answers this machine at {}: {}", url,
                                        answer.failure.empty() ? "too late" : answer.failure),
                .advice = fmt::format("from another network: dedloc-peer check {}", settings.url)};
    }
    if (answer.status == kOk && is_report_of(answer.body, settings)) {
        return {.answer = PublicAnswer::kGateway,
                .sentence = fmt::format("the gateway answers at {}", url),
                .advice = {}};
    }
    const std::string said = formats::parse_enrolment_error(answer.body);
    if (answer.status == kUnavailable && !said.empty()) {
        return {.answer = PublicAnswer::kNothing,
                .sentence = fmt::format("the gateway at {} says: {}", url, said),
                .advice = {}};
    }
    return {.answer = PublicAnswer::kOther,
            .sentence = fmt::format(
                "volunteers get no tickets: {} answers with HTTP status {}{}{}, which is not the "
                "project's gateway",
                url, answer.status, said.empty() ? "" : ", ", said),
            .advice = advice_for(project, settings)};
}

void check_public_address(const Subject& subject, Findings& findings) {
    if (!subject.is_running) {
        return findings.good("the public address is asked only while the project runs");
    }
    const auto found = ask_public_address(subject.project, subject.settings);
    switch (found.answer) {
        case PublicAnswer::kGateway:
            return findings.good(found.sentence);
        case PublicAnswer::kNothing:
            return findings.unknown(found.sentence, found.advice);
        case PublicAnswer::kOther:
            return findings.bad(found.sentence, found.advice);
    }
}

}  // namespace dedloc::check
