// An empty download first gives the latency, which is subtracted from every transfer. Each transfer
// is sized for kAimedAt by the previous rate, at most kGrowth times as large; the last one counts.
// Uploads send random bytes, which no proxy can compress.
#include "peer/tool/gateway_link.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "peer/formats/enrolment.hpp"

namespace dedloc::tool {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr std::uint64_t kFirstBytes = 64 * 1024;  // two seconds at 256 kbit/s
constexpr Seconds kLongEnough{0.6};
constexpr Seconds kAimedAt{1.2};
constexpr Seconds kMinTime{1e-6};
/// Limit of the growth from one transfer to the next: many links forward a short burst faster than
/// the data after it.
constexpr double kGrowth = 4;
constexpr int kMaxTransfers = 5;

constexpr long kHttpOk = 200;
constexpr long kNotFound = 404;
constexpr long kTooMany = 429;

[[noreturn]] void give_up(const net::HttpAnswer& answer) {
    if (!answer.failure.empty()) {
        throw NotMeasured(fmt::format("a transfer with the gateway failed: {}", answer.failure));
    }
    if (answer.status == kTooMany) {
        throw NotMeasured("measured too often from this address: try again in a few minutes");
    }
    std::string why = formats::parse_enrolment_error(answer.body);
    if (why.empty() && answer.status == kNotFound) why = "it is an older one";
    if (why.empty()) why = fmt::format("HTTP status {}", answer.status);
    throw NotMeasured(fmt::format("the project's gateway does not measure it: {}", why));
}

class Transfers {
  public:
    explicit Transfers(const net::HttpRequest& proxied) : proxied_(proxied) {
        // The time of a transfer without bytes is latency, not bandwidth.
        latency_ = receive(0);
    }

    template <class Transfer>
    Bandwidth rate_of(const Transfer& transfer) {
        std::uint64_t bytes = kFirstBytes;
        for (int i = 1;; ++i) {
            const Seconds took = std::max(transfer(bytes) - latency_, kMinTime);
            const double rate = static_cast<double>(bytes) / took.count();
            if (took >= kLongEnough || bytes == formats::kMaxMeasuredBytes || i == kMaxTransfers) {
                return Bandwidth{static_cast<std::uint64_t>(rate)};
            }
            const double next =
                std::min(rate * kAimedAt.count(), kGrowth * static_cast<double>(bytes));
            bytes = std::min(static_cast<std::uint64_t>(next), formats::kMaxMeasuredBytes);
        }
    }

    Seconds receive(std::uint64_t bytes) {
        net::HttpRequest request = proxied_;
        request.url += fmt::format("dedloc/bandwidth?bytes={}", bytes);
        request.max_bytes = formats::kMaxMeasuredBytes;
        const net::HttpAnswer answer = ask(request);
        if (answer.body.size() != bytes) throw NotMeasured(cut(answer.body.size(), bytes));
        return answer.took;
    }

    Seconds send(std::uint64_t bytes) {
        net::HttpRequest request = proxied_;
        request.url += "dedloc/bandwidth";
        request.content_type = "application/octet-stream";
        request.body.resize(bytes);
        randombytes_buf(request.body.data(), request.body.size());  // does not compress
        request.max_bytes = formats::kMaxEnrolmentBytes;
        const net::HttpAnswer answer = ask(request);
        std::uint64_t arrived = 0;
        try {
            arrived = formats::parse_arrival(answer.body);
        } catch (const InputError& error) {
            throw NotMeasured(error.what());
        }
        if (arrived != bytes) throw NotMeasured(cut(arrived, bytes));
        return answer.took;
    }

  private:
    net::HttpAnswer ask(const net::HttpRequest& request) {
        net::HttpAnswer answer = client_.ask(request, [] { return false; });
        if (answer.status != kHttpOk) give_up(answer);
        return answer;
    }

    static std::string cut(std::uint64_t arrived, std::uint64_t bytes) {
        return fmt::format("of a transfer with the gateway {} bytes of {} arrived", arrived, bytes);
    }

    const net::HttpRequest& proxied_;
    net::HttpClient client_;
    Seconds latency_{};
};

}  // namespace

GatewayLink measure_gateway_link(const net::HttpRequest& proxied) {
    Transfers transfers(proxied);
    GatewayLink link;
    link.download =
        transfers.rate_of([&](std::uint64_t bytes) { return transfers.receive(bytes); });
    link.upload = transfers.rate_of([&](std::uint64_t bytes) { return transfers.send(bytes); });
    return link;
}

}  // namespace dedloc::tool
