// Integer arithmetic only, so that every machine fills in the same bandwidths and cuts the same
// chunks. chunk_elements_for() first tries the cut for long vectors; if its chunks are too small it
// takes the cut for short ones, else it enlarges them for fast links.
#include "peer/planning/request.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "peer/base/check.hpp"

namespace dedloc::planning {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t kMinChunk = 16;
constexpr std::uint64_t kMinLongChunk = 4'096;
constexpr std::uint64_t kChunksOfLong = 64;
constexpr std::uint64_t kChunksOnFastLinks = 32;
constexpr std::uint64_t kChunksOfShort = 8;
constexpr Bandwidth kOrdinaryLink{12'500'000};  // 100 Mbit/s

/// Mean over the members with a known speed; nullopt if there is none.
std::optional<Bandwidth> mean_of(const std::vector<Member>& members,
                                 std::optional<Bandwidth> Member::*speed) {
    Wide sum = 0;
    std::uint64_t known = 0;
    for (const Member& member : members) {
        if (!(member.*speed)) continue;
        DEDLOC_CHECK(member.*speed > Bandwidth{0}, "a known bandwidth is above 0");
        sum += (member.*speed)->value();
        ++known;
    }
    if (known == 0) return std::nullopt;
    return Bandwidth{static_cast<std::uint64_t>(sum / known)};
}

/// Elements that the slowest link carries in a millisecond, rounded down to a power of two.
std::uint64_t elements_a_millisecond(const PlanRequest& request) {
    Bandwidth slowest{std::numeric_limits<std::uint64_t>::max()};
    for (const LinkSpeed& link : known_links(request)) {
        slowest = std::min({slowest, link.upload, link.download});
    }
    const WireSize& codec = request.contribution;
    return std::bit_floor(slowest.value() / 1'000 * codec.block_elements / codec.bytes_per_block);
}

}  // namespace

WireSize on_the_wire(Codec codec) {
    constexpr std::array<WireSize, kCodecNames.size()> kSizes{kFp32, kHalf, kHalf, kInt8};
    WireSize size = kSizes[static_cast<std::size_t>(codec)];
    size.bytes_per_chunk =
        wire::kChunkOverheadBytes + (codec == Codec::kInt8 ? wire::kBlocksOverheadBytes : 0);
    return size;
}

std::uint32_t chunk_elements_for(const PlanRequest& request) {
    DEDLOC_CHECK(request.elements > 0 && !request.members.empty() && request.max_reducers > 0,
                 "a request has elements, members and reducers", request.elements,
                 request.members.size());
    const auto reachable = std::ranges::count_if(request.members, &Member::is_reachable);
    const auto reducers =
        std::clamp<std::uint64_t>(static_cast<std::uint64_t>(reachable), 1, request.max_reducers);
    const auto cut = [&](std::uint64_t each) {
        return std::min<std::uint64_t>(std::bit_floor(request.elements / (each * reducers)),
                                       wire::kChunkElements);
    };
    // Powers of two: a chunk that is not shorter than a block has whole blocks.
    const std::uint64_t shortest = std::bit_ceil(std::max<std::uint64_t>(
        {kMinChunk, request.contribution.block_elements, request.average.block_elements}));
    std::uint64_t chunk = cut(kChunksOfLong);
    if (chunk < kMinLongChunk) {
        chunk = std::clamp(cut(kChunksOfShort), shortest, kMinLongChunk);
    } else {
        chunk = std::clamp(elements_a_millisecond(request), chunk, cut(kChunksOnFastLinks));
    }
    return static_cast<std::uint32_t>(chunk);
}

VectorSize size_of(const PlanRequest& request) {
    DEDLOC_CHECK(request.elements > 0 && request.elements <= wire::kMaxElements,
                 "the length of the vector is within its limits", request.elements);
    DEDLOC_CHECK(request.chunk_elements > 0, "chunks have elements");
    for (const WireSize& codec : {request.contribution, request.average}) {
        DEDLOC_CHECK(codec.block_elements > 0 && codec.bytes_per_block > 0, "a codec has blocks");
        DEDLOC_CHECK(codec.bytes_of(request.chunk_elements) <= wire::kMaxFrameBytes,
                     "a chunk fits a frame", codec.bytes_of(request.chunk_elements));
    }
    const std::uint64_t whole = request.elements / request.chunk_elements;
    const std::uint64_t rest = request.elements % request.chunk_elements;
    const std::uint64_t chunks = whole + (rest > 0 ? 1 : 0);
    DEDLOC_CHECK(chunks <= wire::kMaxChunks, "the number of chunks is within its limit", chunks);
    const auto bytes = [&](const WireSize& codec) {
        return whole * codec.bytes_of(request.chunk_elements) + codec.bytes_of(rest);
    };
    return {.chunks = static_cast<std::uint32_t>(chunks),
            .contribution_bytes = bytes(request.contribution),
            .average_bytes = bytes(request.average)};
}

std::uint64_t elements_of_chunk(const PlanRequest& request, std::uint32_t chunk) {
    const std::uint64_t begin = std::uint64_t{chunk} * request.chunk_elements;
    DEDLOC_CHECK(begin < request.elements, "the chunk is inside the vector", chunk);
    return std::min<std::uint64_t>(request.chunk_elements, request.elements - begin);
}

std::vector<LinkSpeed> known_links(const PlanRequest& request) {
    const auto mean_upload = mean_of(request.members, &Member::upload);
    const auto mean_download = mean_of(request.members, &Member::download);
    const Bandwidth upload = mean_upload.value_or(mean_download.value_or(kOrdinaryLink));
    const Bandwidth download = mean_download.value_or(mean_upload.value_or(kOrdinaryLink));
    std::vector<LinkSpeed> links;
    links.reserve(request.members.size());
    for (const Member& member : request.members) {
        links.push_back({.upload = member.upload.value_or(upload),
                         .download = member.download.value_or(download)});
    }
    return links;
}

Traffic traffic_of(const PlanRequest& request) {
    Traffic traffic;
    for (const Member& member : request.members) {
        traffic.contributors += member.contributes ? 1 : 0;
        traffic.receivers += member.receives ? 1 : 0;
    }
    return traffic;
}

}  // namespace dedloc::planning
