// Each attempt is one POST. Statuses 429 and 5xx, and failures without a status, are retried; any
// other answer is final. A reply counts only if the ticket is for this run and key and the project
// has signed it and the revocations. The clocks are compared here, since a peer whose clock is
// wrong would have its ticket refused on every link.
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
constexpr milliseconds kTick{100};
/// Largest accepted clock difference: the tolerance of links, less a minute for the request.
constexpr std::chrono::seconds kClocksDiffer{wire::kClockErrorSeconds - 60};

constexpr long kOk = 200;
constexpr long kTooMany = 429;
constexpr long kServerErrors = 500;

/// True if a retry may succeed.
bool is_passing(const HttpAnswer& answer) {
    return answer.status == 0 || answer.status == kTooMany || answer.status >= kServerErrors;
}

std::string sentence_of(const HttpAnswer& answer) {
    if (!answer.failure.empty()) return answer.failure;
    const std::string sentence = formats::parse_enrolment_error(answer.body);
    return sentence.empty() ? fmt::format("it answers with HTTP status {}", answer.status)
                            : sentence;
}

/// The valid reply of a final answer. Errors: EnrolmentRefused; IoError if the clocks differ.
formats::EnrolmentReply checked(const HttpAnswer& answer, const EnrolmentOptions& options) {
    if (answer.status != kOk) throw EnrolmentRefused(sentence_of(answer));
    try {
        formats::EnrolmentReply reply = formats::parse_enrolment_reply(answer.body);
        const formats::Ticket& ticket = reply.ticket.ticket;
        if (ticket.run != options.run || ticket.peer != options.request.key ||
            !formats::is_signed_by(options.project, reply.ticket) ||
            !formats::is_signed_by(options.project, reply.revoked)) {
            throw EnrolmentRefused("the gateway's ticket is not for this run and key");
        }
        const auto ahead = std::chrono::system_clock::now() - ticket.issued;
        if (std::chrono::abs(ahead) > kClocksDiffer) {
            throw IoError(fmt::format(
                "this computer's clock is {} minutes {} the project's: peers would take no ticket",
                std::chrono::round<std::chrono::minutes>(std::chrono::abs(ahead)).count(),
                ahead.count() > 0 ? "ahead of" : "behind"));
        }
        return reply;
    } catch (const InputError& error) {
        throw EnrolmentRefused(
            fmt::format("the reply of {} is not valid: {}", options.gateway, error.what()));
    }
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
        std::this_thread::sleep_for(std::min<Clock::duration>(kTick, end - Clock::now()));
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
        if (!is_passing(answer)) return checked(answer, options);
        if (is_unwanted()) return std::nullopt;
        const std::string sentence = sentence_of(answer);
        const milliseconds pause = part_of(longest);
        if (Clock::now() + pause >= end) {
            throw IoError(fmt::format("the gateway {} cannot be asked for a ticket: {}",
                                      options.gateway, sentence));
        }
        log_warning("the gateway {} gives no ticket now: {}; asking again in {:.1f} s",
                    options.gateway, sentence, std::chrono::duration<double>(pause).count());
        if (!wait(pause, is_unwanted)) return std::nullopt;
    }
}

}  // namespace dedloc::net
