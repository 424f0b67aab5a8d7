// forecast(): adds up the bytes that each member sends and receives under the given ranges, with
// the true size of the last chunk, and divides by its bandwidths. A member limits the round if one
// chunk more would make it longer; set_limits() counts that chunk at full size.
#include <algorithm>

#include "peer/base/check.hpp"
#include "peer/planning/capacity.hpp"
#include "peer/planning/planner.hpp"

namespace dedloc::planning {
namespace {

/// Chunks that one member averages, and their bytes.
struct Own {
    std::uint32_t chunks = 0;
    std::uint64_t contribution_bytes = 0;
    std::uint64_t average_bytes = 0;
};

std::vector<Own> own_of(const PlanRequest& request, std::span<const ChunkRange> ranges,
                        std::uint32_t chunks) {
    std::vector<Own> own(request.members.size());
    std::uint32_t next = 0;
    for (const ChunkRange& range : ranges) {
        DEDLOC_CHECK(range.first_chunk == next && range.last_chunk > next, "ranges have no gaps",
                     range.first_chunk, range.last_chunk, next);
        DEDLOC_CHECK(range.member.value() < own.size(), "a range belongs to a member",
                     range.member.value());
        Own& of = own[range.member.value()];
        const std::uint64_t last = elements_of_chunk(request, range.last_chunk - 1);
        const std::uint64_t before = range.last_chunk - range.first_chunk - 1;
        const auto bytes = [&](const WireSize& codec) {
            return before * codec.bytes_of(request.chunk_elements) + codec.bytes_of(last);
        };
        of.chunks += range.last_chunk - range.first_chunk;
        of.contribution_bytes += bytes(request.contribution);
        of.average_bytes += bytes(request.average);
        next = range.last_chunk;
    }
    DEDLOC_CHECK(next == chunks, "ranges cover the vector", next, chunks);
    return own;
}

/// The time of `more` − `less` additional bytes; 0 if the traffic shrinks.
Ticks time_of_more(std::uint64_t more, std::uint64_t less, Bandwidth speed) {
    return more > less ? time_for(more - less, speed) : 0;
}

void set_limits(const PlanRequest& request, std::uint32_t chunks, const Traffic& traffic,
                Forecast& result) {
    // One chunk more, and the last chunk at full size, so that equal members get the same limit.
    const std::uint64_t last = elements_of_chunk(request, chunks - 1);
    const auto step_of = [&](const WireSize& codec) {
        return 2 * codec.bytes_of(request.chunk_elements) - codec.bytes_of(last);
    };
    const std::uint64_t contribution = step_of(request.contribution);
    const std::uint64_t average = step_of(request.average);
    for (std::size_t k = 0; k < result.loads.size(); ++k) {
        const Member& member = request.members[k];
        MemberLoad& load = result.loads[k];
        Duration up = load.sending;
        Duration down = load.receiving;
        if (member.is_reachable && load.chunks < chunks) {
            const std::uint64_t receivers = traffic.receivers - (member.receives ? 1 : 0);
            const std::uint64_t contributors = traffic.contributors - (member.contributes ? 1 : 0);
            up += Duration{time_of_more(average * receivers, member.contributes ? contribution : 0,
                                        load.link.upload)};
            down += Duration{time_of_more(contribution * contributors,
                                          member.receives ? average : 0, load.link.download)};
        }
        if (std::max(up, down) < result.transfer) continue;
        load.limit = up >= down ? Limit::kUpload : Limit::kDownload;
    }
}

}  // namespace

Forecast forecast(const PlanRequest& request, std::span<const ChunkRange> ranges) {
    const VectorSize size = size_of(request);
    const Traffic traffic = traffic_of(request);
    const std::vector<LinkSpeed> links = known_links(request);
    const std::vector<Own> own = own_of(request, ranges, size.chunks);
    Forecast result;
    for (std::size_t k = 0; k < own.size(); ++k) {
        const Member& member = request.members[k];
        const std::uint64_t receivers = traffic.receivers - (member.receives ? 1 : 0);
        const std::uint64_t contributors = traffic.contributors - (member.contributes ? 1 : 0);
        MemberLoad load{.link = links[k], .chunks = own[k].chunks};
        load.sent = Bytes{own[k].average_bytes * receivers};
        if (member.contributes)
            load.sent += Bytes{size.contribution_bytes} - Bytes{own[k].contribution_bytes};
        load.received = Bytes{own[k].contribution_bytes * contributors};
        if (member.receives)
            load.received += Bytes{size.average_bytes} - Bytes{own[k].average_bytes};
        load.sending = Duration{time_for(load.sent.value(), links[k].upload)};
        load.receiving = Duration{time_for(load.received.value(), links[k].download)};
        result.transfer = std::max({result.transfer, load.sending, load.receiving});
        result.loads.push_back(load);
    }
    const bool is_anything_sent = result.transfer.count() > 0;
    result.round = result.transfer + (is_anything_sent ? 2 * request.latency : Duration{0});
    if (is_anything_sent) set_limits(request, size.chunks, traffic, result);
    return result;
}

}  // namespace dedloc::planning
