// Each attempt is one POST. An answer counts only if it is the gateway's: a ticket for this run and
// key that one of the run's keys has signed with revocations that the project has signed, or a
// refusal in the gateway's own words. Whatever else answers at the URL (a web server without the
// gateway's line, a proxy's error page, a captive portal) says nothing about the job, so it is
// retried like a failure without an answer. That no seat is free ends this attempt of the job, and
// no more than that: a network that forges it gains as much as by not answering.
// The clocks are compared here, since a peer whose clock is wrong would have its ticket refused on
// every link.
#include "peer/net/gateway/enrolment.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <thread>

#include "peer/base/log.hpp"
#include "peer/net/gateway/http_request.hpp"

namespace dedloc::net {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kMaxPause{60'000};
constexpr milliseconds kEnrolmentTick{100};
/// Largest accepted clock difference: the tolerance of links, less a minute for the request.
constexpr std::chrono::seconds kClocksDiffer{wire::kClockErrorSeconds - 60};

constexpr long kOk = 200;

std::string sentence_of(const HttpAnswer& answer) {
    if (!answer.failure.empty()) return answer.failure;
    const std::string sentence = formats::parse_enrolment_error(answer.body);
    if (!sentence.empty()) return sentence;
    return fmt::format(
        "the answer there, with HTTP status {}, is not that of the project's gateway",
        answer.status);
}

/// The reply that an answer holds, if the project has signed it for this run and key.
std::optional<formats::EnrolmentReply> reply_in(const HttpAnswer& answer,
                                                const EnrolmentOptions& options) {
    if (answer.status != kOk) return std::nullopt;
    try {
        formats::EnrolmentReply reply = formats::parse_enrolment_reply(answer.body);
        const formats::Ticket& ticket = reply.ticket.ticket;
        const formats::TicketSigners signers{.project = options.project,
                                             .gateway = options.ticket_key};
        const bool is_ours = ticket.run == options.run && ticket.peer == options.request.key &&
                             formats::is_signed_by(signers, reply.ticket) &&
                             formats::is_signed_by(options.project, reply.revoked);
        return is_ours ? std::optional{std::move(reply)} : std::nullopt;
    } catch (const InputError&) {
        return std::nullopt;
    }
}

/// Errors: IoError.
void compare_clocks(const formats::Ticket& ticket) {
    const auto ahead = std::chrono::system_clock::now() - ticket.issued;
    if (std::chrono::abs(ahead) <= kClocksDiffer) return;
    throw IoError(fmt::format(
        "this computer's clock is {} minutes {} the project's: peers would take no ticket",
        std::chrono::round<std::chrono::minutes>(std::chrono::abs(ahead)).count(),
        ahead.count() > 0 ? "ahead of" : "behind"));
}

/// Random between half of `pause` and all of it, so that peers do not retry at the same time.
milliseconds part_of(milliseconds pause) {
    const auto half = static_cast<std::uint32_t>(pause.count() / 2);
    return milliseconds{half + randombytes_uniform(half + 1)};
}

/// Waits for `pause`. False: is_unwanted() has become true.
bool wait(milliseconds pause, const std::function<bool()>& is_unwanted) {
    const auto end = Clock::now() + pause;
    while (Clock::now() < end) {
        if (is_unwanted()) return false;
        std::this_thread::sleep_for(std::min<Clock::duration>(kEnrolmentTick, end - Clock::now()));
    }
    return !is_unwanted();
}

}  // namespace

std::optional<formats::EnrolmentReply> enrol(const EnrolmentOptions& options,
                                             const std::function<bool()>& is_unwanted) {
    const HttpRequest request{.url = options.gateway + "enrol",
                              .body = formats::write_enrolment_request(options.request),
                              .proxy = options.proxy,
                              .certificates = options.certificates,
                              .max_bytes = formats::kMaxEnrolmentReplyBytes};
    const auto end = Clock::now() + options.timeout;
    for (milliseconds longest = options.first_pause;; longest = std::min(2 * longest, kMaxPause)) {
        if (is_unwanted()) return std::nullopt;
        const HttpAnswer answer = ask(request, is_unwanted);
        if (auto reply = reply_in(answer, options)) {
            compare_clocks(reply->ticket.ticket);
            return reply;
        }
        if (is_unwanted()) return std::nullopt;
        const std::string sentence = sentence_of(answer);
        if (formats::is_enrolment_refusal(answer.body)) throw EnrolmentRefused(sentence);
        // Seats are free when other jobs end, in hours: the device is better used meanwhile.
        if (formats::is_enrolment_full(answer.body)) {
            throw IoError(fmt::format("the project has no seat for this job now: {}", sentence));
        }
        const milliseconds pause = part_of(longest);
        if (Clock::now() + pause >= end) {
            throw IoError(fmt::format("the gateway {} cannot be asked for a ticket: {}",
                                      options.gateway, sentence));
        }
        log_warning("the gateway {} gives no ticket now: {}; asking again in {:.1f} s",
                    options.gateway, sentence, seconds_of(pause));
        if (!wait(pause, is_unwanted)) return std::nullopt;
    }
}

}  // namespace dedloc::net
