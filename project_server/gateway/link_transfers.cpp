#include "project_server/gateway/link_transfers.hpp"

#include <fmt/format.h>
#include <httplib.h>
#include <sodium.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "peer/base/text.hpp"
#include "peer/formats/enrolment.hpp"
#include "project_server/gateway/replies.hpp"
#include "project_server/http/http_setup.hpp"

namespace dedloc::gateway {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBlockBytes = 64 * 1024;
/// How long the body of a refused request is read, so that the client sees the reply before the
/// connection closes.
constexpr std::chrono::milliseconds kRefusedTimeout{1'000};
constexpr const char* kNotNow = "other links are measured now: try again in a minute";

std::string random_block() {
    std::string block(kBlockBytes, '\0');
    randombytes_buf(block.data(), block.size());
    return block;
}

std::optional<std::uint64_t> wanted_bytes(const httplib::Request& request) {
    const auto bytes = parse_number<std::uint64_t>(request.get_param_value("bytes"));
    return bytes && *bytes <= formats::kMaxMeasuredBytes ? bytes : std::nullopt;
}

}  // namespace

LinkTransfers::LinkTransfers(const TransferLimits& limits, std::string proxy)
    : limits_(limits), proxy_(std::move(proxy)), slots_(limits.at_once), block_(random_block()) {}

void LinkTransfers::send(const httplib::Request& request, httplib::Response& response) {
    const auto bytes = wanted_bytes(request);
    if (!bytes) {
        return refuse(response, kBadRequest,
                      fmt::format("bytes must be a number up to {}", formats::kMaxMeasuredBytes));
    }
    const auto slot = slots_.take(server::address_of(request, proxy_));
    if (!slot) return refuse(response, kUnavailable, kNotNow);
    response.set_header("Cache-Control", "no-store, no-transform");
    response.status = kOk;
    constexpr const char* kType = "application/octet-stream";
    if (*bytes == 0) return response.set_content("", kType);
    response.set_content_provider(
        *bytes, kType,
        [this, slot, whole = *bytes, end = Clock::now() + limits_.longest](
            std::size_t offset, std::size_t length, httplib::DataSink& sink) {
            if (Clock::now() > end) return false;
            const std::size_t next = std::min(length, block_.size());
            // Free the slot before the last byte: the client may make its next request at once.
            if (offset + next == whole) slot->leave();
            return sink.write(block_.data(), next);
        });
}

void LinkTransfers::receive(const httplib::Request& request, httplib::Response& response,
                            const httplib::ContentReader& content) {
    const auto slot = slots_.take(server::address_of(request, proxy_));
    const auto end = Clock::now() + (slot ? limits_.longest : kRefusedTimeout);
    std::uint64_t arrived = 0;
    const bool is_whole = content([&](const char*, std::size_t bytes) {
        arrived += bytes;
        return arrived <= formats::kMaxMeasuredBytes && Clock::now() <= end;
    });
    if (!slot) return refuse(response, kUnavailable, kNotNow);
    if (!is_whole) {
        return refuse(response, kTooLong,
                      fmt::format("a transfer has {} bytes and {} ms at most",
                                  formats::kMaxMeasuredBytes, limits_.longest.count()));
    }
    reply(response, kOk, formats::write_arrival(arrived));
}

}  // namespace dedloc::gateway
