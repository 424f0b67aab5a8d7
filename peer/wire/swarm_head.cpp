// A fixed little-endian layout: format, run, generation, step, state, number of endpoints, then for
// each endpoint the length of its host, the host and its port. The first byte changes with the
// layout. Numbers missing at the end of a short input read as values out of bounds, so one check at
// the end refuses them.
#include "peer/wire/swarm_head.hpp"

#include <algorithm>
#include <string_view>

#include "peer/base/check.hpp"
#include "peer/wire/address.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::wire {
namespace {

/// Version of the layout.
constexpr std::uint8_t kHeadFormat = 1;
/// In a sequence number the generation is above so many bits of step.
constexpr int kStepBits = 40;
constexpr std::uint64_t kMaxGenerations = std::uint64_t{1} << 22;
constexpr std::size_t kSaltBytes = 20;

bool is_within_bounds(const SwarmHead& head) {
    const auto is_good = [](const Endpoint& endpoint) {
        return endpoint.port != 0 && endpoint.host.size() <= kMaxHostBytes &&
               is_numeric_address(endpoint.host);
    };
    return head.generation <= kMaxGeneration && head.step.value() <= kMaxStep &&
           head.backbones.size() <= kMaxHeadEndpoints &&
           std::all_of(head.backbones.begin(), head.backbones.end(), is_good);
}

template <std::size_t N>
bool read_bytes(ByteReader& in, std::array<std::byte, N>& bytes) {
    const auto taken = in.take(N);
    if (taken) std::copy(taken->begin(), taken->end(), bytes.begin());
    return taken.has_value();
}

bool read_endpoint(ByteReader& in, Endpoint& endpoint) {
    const auto length = in.read<std::uint8_t>();
    const auto host = length ? in.take(*length) : std::nullopt;
    const auto port = in.read<std::uint16_t>();
    if (!host || !port) return false;
    endpoint = {{reinterpret_cast<const char*>(host->data()), host->size()}, *port};
    return true;
}

}  // namespace

Buffer encode(const SwarmHead& head) {
    DEDLOC_CHECK(is_within_bounds(head), "every field of the head is within its bounds",
                 head.backbones.size());
    ByteWriter out;
    out.write(kHeadFormat);
    out.append(head.run.bytes);
    out.write(head.generation);
    out.write(head.step.value());
    out.append(head.state.bytes);
    out.write(static_cast<std::uint8_t>(head.backbones.size()));
    for (const Endpoint& endpoint : head.backbones) {
        out.write(static_cast<std::uint8_t>(endpoint.host.size()));
        out.append(bytes_of(endpoint.host));
        out.write(endpoint.port);
    }
    return std::move(out).finish();
}

std::optional<SwarmHead> decode_swarm_head(std::span<const std::byte> bytes) {
    if (bytes.size() > kMaxHeadBytes) return {};
    ByteReader in(bytes);
    if (in.read<std::uint8_t>() != kHeadFormat) return {};
    SwarmHead head;
    if (!read_bytes(in, head.run.bytes)) return {};
    head.generation = in.read<std::uint64_t>().value_or(~std::uint64_t{0});
    head.step = StepIndex{in.read<std::uint64_t>().value_or(~std::uint64_t{0})};
    if (!read_bytes(in, head.state.bytes)) return {};
    const std::size_t count = in.read<std::uint8_t>().value_or(kMaxHeadEndpoints + 1);
    if (count > kMaxHeadEndpoints) return {};
    head.backbones.resize(count);
    for (Endpoint& endpoint : head.backbones) {
        if (!read_endpoint(in, endpoint)) return {};
    }
    if (in.remaining() != 0 || !is_within_bounds(head)) return {};
    return head;
}

std::int64_t sequence_of(const SwarmHead& head) {
    const std::uint64_t last_step = (std::uint64_t{1} << kStepBits) - 1;
    const std::uint64_t generation = std::min(head.generation, kMaxGenerations);
    return static_cast<std::int64_t>((generation << kStepBits) |
                                     std::min(head.step.value(), last_step));
}

std::string salt_of(const RunId& run) {
    return {reinterpret_cast<const char*>(run.bytes.data()), kSaltBytes};
}

}  // namespace dedloc::wire
