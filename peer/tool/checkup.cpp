// The gateway is asked first: its report names the project's clock and DHT seeds and says whether
// it could dial the port, so a transport listens before the request. Each check makes one Finding;
// only the gateway's failure ends the checkup.
#include "peer/tool/checkup.hpp"

#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "peer/base/error.hpp"
#include "peer/formats/enrolment.hpp"
#include "peer/net/endpoint_text.hpp"
#include "peer/net/gateway/http_request.hpp"
#include "peer/net/tcp/tcp_transport.hpp"
#include "peer/tool/dht_ping.hpp"
#include "peer/tool/gateway_link.hpp"

namespace dedloc::tool {
namespace {

constexpr long kOk = 200;
constexpr std::chrono::milliseconds kSeedTimeout{3'000};

/// Opens the transport; on failure returns the finding with the reason.
std::optional<Finding> listen(std::optional<net::TcpTransport>& transport, std::uint16_t port) {
    net::TransportOptions options;
    options.listen = Endpoint{"::", port};
    try {
        transport.emplace(options, [](const Event&) {});
        return std::nullopt;
    } catch (const IoError& error) {
        return Finding{.what = "port",
                       .works = false,
                       .is_needed = true,
                       .sentence = fmt::format("{}: choose another with --port", error.what())};
    }
}

formats::GatewayReport ask_gateway(const CheckupOptions& options, const std::string& url,
                                   std::uint16_t port) {
    const net::HttpAnswer answer =
        net::ask({.url = fmt::format("{}dedloc/report?port={}", url, port),
                  .proxy = options.proxy,
                  .certificates = options.certificates,
                  .max_bytes = formats::kMaxEnrolmentBytes},
                 [] { return false; });
    if (!answer.failure.empty()) {
        throw Error(
            fmt::format("no gateway answers at {} ({}): is that the project's URL, and does "
                        "this computer reach the web without a proxy?",
                        url, answer.failure));
    }
    if (answer.status != kOk) {
        const std::string said = formats::parse_enrolment_error(answer.body);
        throw Error(
            fmt::format("no gateway answers at {} (HTTP status {}{}{}): is that the URL of "
                        "a DeDLOC project, and does it run?",
                        url, answer.status, said.empty() ? "" : ", ", said));
    }
    try {
        return formats::parse_gateway_report(answer.body);
    } catch (const InputError& error) {
        throw Error(fmt::format("the server at {} is not a gateway: {}", url, error.what()));
    }
}

Finding judge_clock(formats::UtcSeconds theirs) {
    const auto ours = std::chrono::system_clock::now();
    const auto ahead = std::chrono::duration_cast<std::chrono::seconds>(ours - theirs);
    const bool works = std::chrono::abs(ahead).count() < wire::kClockErrorSeconds;
    return {.what = "clock",
            .works = works,
            .is_needed = true,
            .sentence = fmt::format("this computer's is {} s {} the project's{}",
                                    std::chrono::abs(ahead).count(),
                                    ahead.count() < 0 ? "behind" : "ahead of",
                                    works ? "" : ", which makes tickets void: set it")};
}

Finding judge_seed(const std::string& seed) {
    Finding finding{.what = "DHT seed", .works = false, .is_needed = true, .sentence = {}};
    try {
        finding.works = answers_ping(net::resolve_endpoint(seed), kSeedTimeout);
    } catch (const Error& error) {
        finding.sentence = error.what();
        return finding;
    }
    finding.sentence = finding.works
                           ? fmt::format("{} answers", seed)
                           : fmt::format(
                                 "{} does not answer: let UDP to it through this network's "
                                 "firewall, or ask the project whether it runs",
                                 seed);
    return finding;
}

Finding judge_port(const formats::GatewayReport& report, std::uint16_t port) {
    const std::string where = fmt::format("TCP port {} at {}", port, report.address);
    return {.what = "port",
            .works = report.is_reachable,
            .is_needed = false,
            .sentence = report.is_reachable
                            ? fmt::format("the project can dial {}", where)
                            : fmt::format("the project cannot dial {}: open or forward it, or do "
                                          "nothing; a peer that cannot be dialled takes part too",
                                          where)};
}

Finding judge_bandwidth(const CheckupOptions& options, const std::string& url) {
    Finding finding{.what = "bandwidth", .works = false, .is_needed = false, .sentence = {}};
    const auto megabits = [](Bandwidth bandwidth) {
        return static_cast<double>(bandwidth.value()) * 8 / 1e6;
    };
    try {
        const GatewayLink link = measure_gateway_link(
            {.url = url, .proxy = options.proxy, .certificates = options.certificates});
        finding.works = true;
        finding.sentence =
            fmt::format("between here and the project {:.1f} Mbit/s up, {:.1f} Mbit/s down",
                        megabits(link.upload), megabits(link.download));
    } catch (const NotMeasured& error) {
        finding.sentence = error.what();
    }
    return finding;
}

}  // namespace

std::vector<Finding> check_up(const CheckupOptions& options) {
    const std::string url = options.url.ends_with('/') ? options.url : options.url + '/';
    std::optional<net::TcpTransport> transport;
    const auto no_port = listen(transport, options.port);
    const std::uint16_t port = transport ? transport->listening_port() : std::uint16_t{0};
    const formats::GatewayReport report = ask_gateway(options, url, port);
    std::vector<Finding> findings;
    findings.push_back({.what = "gateway",
                        .works = true,
                        .is_needed = true,
                        .sentence = fmt::format("of \"{}\" answers at {}", report.project, url)});
    findings.push_back(judge_clock(report.now));
    for (const std::string& seed : report.dht_seeds) findings.push_back(judge_seed(seed));
    if (report.dht_seeds.empty()) {
        findings.push_back({.what = "DHT seed",
                            .works = false,
                            .is_needed = true,
                            .sentence = "the project runs nothing now: come back later"});
    }
    findings.push_back(no_port ? *no_port : judge_port(report, port));
    findings.push_back(judge_bandwidth(options, url));
    return findings;
}

}  // namespace dedloc::tool
