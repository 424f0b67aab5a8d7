// Requests are judged by their heads before a body is read. An enrolment checks, records and signs
// its ticket with one connection of the pool and gives it back before it dials the peer, because a
// dial may take seconds. Slots limit the dials of an address, of a result and of all together, so
// some threads stay free. A job without a seat is returned as a value: an exception would cost the
// pool its connection. The handlers of enrol() turn each kind of failure into a status and a
// sentence.
#include "project_server/gateway/gateway_server.hpp"

#include <httplib.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "peer/base/log.hpp"
#include "peer/formats/enrolment.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/platform/clock.hpp"
#include "peer/platform/networks.hpp"
#include "project_server/gateway/dial_back.hpp"
#include "project_server/gateway/link_transfers.hpp"
#include "project_server/gateway/refusal_log.hpp"
#include "project_server/gateway/replies.hpp"
#include "project_server/gateway/run_signer.hpp"
#include "project_server/http/database_pool.hpp"
#include "project_server/http/http_setup.hpp"
#include "project_server/http/request_head.hpp"
#include "project_server/url.hpp"

namespace dedloc::gateway {
namespace {

using httplib::ContentReader;
using httplib::Request;
using httplib::Response;

constexpr std::size_t kThreads = 64;  // many, because most of them wait for a dial
constexpr std::chrono::milliseconds kDialTimeout{3'000};
constexpr std::size_t kMemberDials = 32;  // at a time; the other threads stay free
constexpr std::size_t kMemberDialsOfAddress = 8;
constexpr std::size_t kReportDials = 8;  // at a time, for requests without authentication

constexpr const char* kDialsOthers = "other computers are dialled now: try again in a minute";

void unavailable(Response& response, const server::DatabaseError& error) {
    log_error("{}", error.what());
    refuse(response, kUnavailable, "the project's database is not available now");
}

/// The first DHT seed of each run that is not finished. Members of a paused run stay in its swarm.
std::vector<std::string> running_seeds(server::Database& database) {
    std::vector<std::string> seeds;
    for (const server::Row& row :
         database.query("select name, spec from dedloc_run where state <> 'finished' limit ?",
                        {formats::kMaxSeeds})) {
        try {
            const formats::RunFile run = formats::parse_run_file(row.text("spec"));
            if (!run.dht_seeds.empty()) seeds.push_back(run.dht_seeds.front().text());
        } catch (const InputError& error) {
            log_warning("the run {} is missing in a report: {}", row.text("name"), error.what());
        }
    }
    return seeds;
}

using Handled = httplib::Server::HandlerResponse;

/// Refuses requests by their heads, and those with a body that have no handler, before httplib
/// reads their body.
Handled judge(const Request& request, Response& response,
              std::initializer_list<std::string> posts) {
    if (const auto refusal = server::refusal_of(request, formats::kMaxMeasuredBytes)) {
        refuse(response, refusal->status, refusal->sentence);
        return Handled::Handled;
    }
    if (request.method == "GET" || request.method == "HEAD") return Handled::Unhandled;
    const bool is_post = request.method == "POST";
    if (is_post && std::ranges::find(posts, request.path) != posts.end()) return Handled::Unhandled;
    refuse(response, kNotFound, "this path takes no such request");
    return Handled::Handled;
}

/// A request's body; nothing if it was refused. A body that is too long is read to its end but not
/// stored.
std::optional<std::string> read(Response& response, const ContentReader& content) {
    std::string body;
    bool is_too_long = false;
    const bool is_whole = content([&](const char* data, std::size_t bytes) {
        is_too_long = is_too_long || bytes > formats::kMaxEnrolmentBytes - body.size();
        if (!is_too_long) body.append(data, bytes);
        return true;
    });
    if (is_whole && !is_too_long) return body;
    refuse(response, is_too_long ? kTooLong : kBadRequest, "the request is truncated or too long");
    return std::nullopt;
}

}  // namespace

struct GatewayServer::Routes {
    Routes(const server::ProjectConfig& config, const std::filesystem::path& state,
           const GatewayAddress& address, const TicketLimits& its_limits)
        : pool(config.database),
          signer(state),
          project(config.name),
          proxy(address.proxy),
          limits(its_limits),
          transfers({}, address.proxy) {
        server::set_up(http, kThreads, formats::kMaxMeasuredBytes);
        const std::string prefix =
            server::required_url(config.master_url, "<master_url>").folder() + "/dedloc";
        const std::string enrolment = prefix + "/enrol";
        const std::string bandwidth = prefix + "/bandwidth";
        const bool is_public = address.host != server::kLoopback;
        http.set_pre_routing_handler([=, this](const Request& request, Response& response) {
            if (is_public && request.remote_addr != proxy) {
                refuse(response, kForbidden, "requests come through the project's web server");
                return Handled::Handled;
            }
            return judge(request, response, {enrolment, bandwidth});
        });
        http.Post(server::literal(enrolment),
                  [this](const Request& request, Response& response, const ContentReader& content) {
                      if (const auto body = read(response, content))
                          enrol(request, *body, response);
                  });
        http.Get(server::literal(prefix + "/report"),
                 [this](const Request& request, Response& response) { report(request, response); });
        http.Get(server::literal(bandwidth), [this](const Request& request, Response& response) {
            transfers.send(request, response);
        });
        http.Post(server::literal(bandwidth),
                  [this](const Request& request, Response& response, const ContentReader& content) {
                      transfers.receive(request, response, content);
                  });
    }

    /// Needs no authentication. The gateway dials only the address that the request comes from, and
    /// strangers' dials occupy few of the threads.
    void report(const Request& request, Response& response) {
        formats::GatewayReport answer;
        answer.project = project;
        answer.now = platform::utc_now();
        answer.address = server::address_of(request, proxy);
        const auto slot = dials.take(answer.address);
        if (!slot) {
            return refuse(response, kUnavailable, kDialsOthers);
        }
        const std::string port_text = request.get_param_value("port");
        std::uint16_t dialled = 0;
        std::from_chars(port_text.data(), port_text.data() + port_text.size(), dialled);
        answer.is_reachable = answers(answer.address, dialled, kDialTimeout);
        try {
            answer.dht_seeds = pool.with(running_seeds);
        } catch (const server::DatabaseError& error) {
            return unavailable(response, error);
        }
        reply(response, kOk, formats::write_gateway_report(answer));
    }

    void enrol(const Request& request, const std::string& body, Response& response) {
        const std::string address = server::address_of(request, proxy);
        try {
            const auto wanted = formats::parse_enrolment_request(body);
            const formats::UtcSeconds utc = platform::utc_now();
            formats::EnrolmentReply answer;
            // A value: the pool drops the connection of a request that ends by an exception.
            const auto none = pool.with([&](server::Database& database) -> std::optional<NoSeat> {
                Issued issued;
                try {
                    issued = issue_ticket(database, signer.key(), wanted, utc, limits,
                                          platform::public_network(address));
                } catch (const NoSeat& full) {
                    return full;
                }
                auto its = signer.sign(database, issued.run, issued.ticket);
                answer.ticket = its.ticket;
                answer.revoked = std::move(its.revoked);
                answer.upload = issued.upload;
                answer.download = issued.download;
                answer.wants_checkpoint = issued.wants_checkpoint;
                return std::nullopt;
            });
            if (none) return refuse_full(*none, response);
            answer.address = address;
            if (wanted.port != 0) {
                const auto slot = member_dials.take(address);
                const auto only = result_dials.take(wanted.result);
                if (!slot || !only) return refuse(response, kUnavailable, kDialsOthers);
                answer.is_reachable = answers(address, wanted.port, kDialTimeout);
            }
            log_info("ticket for {} at {}, {}", wanted.result, address,
                     answer.is_reachable ? "reachable" : "outbound-only");
            reply(response, kOk, formats::write_enrolment_reply(answer));
        } catch (const InputError& error) {
            refuse_ticket(response, kBadRequest, error.what());
        } catch (const Refused& error) {
            log_info("no ticket for {}: {}", address, error.what());
            refuse_ticket(response, kForbidden, error.what());
        } catch (const CannotSign& error) {
            log_error("no ticket for {}: {}", address, error.what());
            refuse(response, kUnavailable, "the project cannot sign tickets now");
        } catch (const server::RefusedData& error) {
            log_error("enrolment from {}: {}", address, error.what());
            refuse_ticket(response, kBadRequest, error.answer());
        } catch (const server::DatabaseError& error) {
            unavailable(response, error);
        }
    }

    void refuse_full(const NoSeat& none, Response& response) {
        if (none.holder().empty()) return refuse(response, kUnavailable, none.what());
        if (const auto count = refusals.count(none.holder(), RefusalLog::Clock::now())) {
            log_warning("no seat for {} ({} requests in vain since the last such line): {}",
                        none.holder(), *count, none.what());
        }
        refuse_seat(response, none.what());
    }

    server::DatabasePool pool;
    RunSigner signer;
    const std::string project;
    const std::string proxy;
    const TicketLimits limits;
    RefusalLog refusals;
    LinkTransfers transfers;
    server::AddressSlots dials{kReportDials};
    server::AddressSlots member_dials{kMemberDials, kMemberDialsOfAddress};
    server::AddressSlots result_dials{kMemberDials};  ///< one for each result
    httplib::Server http;
    server::HttpRun running{http};
};

GatewayServer::GatewayServer(const server::ProjectConfig& config,
                             const std::filesystem::path& state, const GatewayAddress& address,
                             const TicketLimits& limits)
    : routes_(std::make_unique<Routes>(config, state, address, limits)) {
    routes_->running.bind(address.host, address.port);
}

GatewayServer::~GatewayServer() = default;

void GatewayServer::run() {
    routes_->running.run();
}

void GatewayServer::stop() {
    routes_->running.stop();
}

std::uint16_t GatewayServer::port() const {
    return routes_->running.port();
}

}  // namespace dedloc::gateway
