// JsonFields checks types, ranges and unknown fields. Rules about several fields are checked here:
// unique names, at least one peer that can be dialled, `elements` or `bytes`, and a contributing
// peer with a speed if there is a target batch. Error messages name the peer by position and name.
#include "peer/plan_tool/fleet_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/formats/json_fields.hpp"
#include "peer/platform/files.hpp"

namespace dedloc::plan {
namespace {

using formats::JsonFields;

constexpr std::size_t kMaxFileBytes = 4u << 20;
constexpr std::size_t kMaxNameBytes = 64;
constexpr double kBytesPerMegabit = 125'000;
constexpr double kMaxMegabits = 1e7;
constexpr double kMaxSpeed = 1e9;
constexpr double kMaxMicroBatch = 86'400;  ///< seconds
constexpr double kMaxLatencyMs = 60'000;
constexpr std::uint64_t kMaxVectorBytes = wire::kMaxElements * 4;

constexpr std::array<std::pair<std::string_view, planning::WireSize>, 4> kCodecs{{
    {"fp32", planning::kFp32},
    {"fp16", planning::kHalf},
    {"bf16", planning::kHalf},
    {"int8", planning::kInt8},
}};

planning::WireSize codec_of(const JsonFields& fields, const char* name, const std::string& text) {
    const auto found =
        std::ranges::find(kCodecs, text, [](const auto& codec) { return codec.first; });
    if (found == kCodecs.end()) fields.refuse(name, "must be fp32, fp16, bf16 or int8");
    return found->second;
}

/// 0 Mbit/s means that the bandwidth is unknown, so a very slow link is rounded up to 1 byte/s.
std::optional<Bandwidth> bandwidth_of(double megabits) {
    const double bytes = megabits * kBytesPerMegabit;
    if (!(bytes > 0)) return std::nullopt;
    return Bandwidth{std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(bytes)))};
}

struct Peer {
    std::string name;
    planning::Member member;
    double samples_per_second = 0;
    double micro_batch_seconds = 0;
};

/// How error messages name a peer: by position, and by name if it has a printable one.
std::string place_of(const rapidjson::Value& value, std::size_t position) {
    const std::string place = fmt::format("peers[{}]", position);
    if (!value.IsObject()) return place;
    const auto name = value.FindMember("name");
    if (name == value.MemberEnd() || !name->value.IsString()) return place;
    const std::string text{name->value.GetString(), name->value.GetStringLength()};
    const bool is_printable = std::ranges::all_of(text, [](char c) { return c >= 0x20; });
    return text.empty() || text.size() > kMaxNameBytes || !is_printable
               ? place
               : fmt::format("{} ({})", place, text);
}

Peer parse_peer(const rapidjson::Value& value, std::size_t position, std::string_view document) {
    JsonFields fields{value, place_of(value, position), std::string{document}};
    const auto flag = [&](const char* name, bool otherwise) {
        return fields.has(name) ? fields.boolean(name) : otherwise;
    };
    Peer peer;
    peer.name = fields.text("name", kMaxNameBytes);
    peer.member.upload = bandwidth_of(fields.number("upload_mbit", 0, kMaxMegabits));
    peer.member.download = bandwidth_of(fields.number("download_mbit", 0, kMaxMegabits));
    peer.member.contributes = flag("contributes", true);
    peer.member.receives = flag("receives", peer.member.contributes);
    peer.member.is_reachable = !flag("outbound_only", false);
    if (fields.has("samples_per_second")) {
        peer.samples_per_second = fields.number("samples_per_second", 0, kMaxSpeed);
    }
    if (fields.has("micro_batch_seconds")) {
        peer.micro_batch_seconds = fields.number("micro_batch_seconds", 0, kMaxMicroBatch);
    }
    fields.finish();
    return peer;
}

/// The vector's length: given as elements, or as the bytes of an encoded contribution.
std::uint64_t parse_elements(JsonFields& fields, const planning::WireSize& codec) {
    if (fields.has("elements") == fields.has("bytes")) {
        fields.refuse("elements", "or field 'bytes' must be given, and not both");
    }
    if (fields.has("elements")) return fields.integer("elements", 1, wire::kMaxElements);
    const std::uint64_t bytes = fields.integer("bytes", codec.bytes_per_block, kMaxVectorBytes);
    const std::uint64_t elements = bytes / codec.bytes_per_block * codec.block_elements;
    if (elements > wire::kMaxElements) {
        fields.refuse("bytes", fmt::format("are more than {} elements", wire::kMaxElements));
    }
    return elements;
}

}  // namespace

Fleet parse_fleet(std::string_view document, std::string_view text) {
    const rapidjson::Document json = formats::parse_json(document, text, kMaxFileBytes);
    JsonFields fields{json, "", std::string{document}};
    Fleet fleet;
    planning::PlanRequest& round = fleet.training.round;
    const rapidjson::Value& peers = fields.array("peers", 1, wire::kMaxMembers);
    for (std::size_t k = 0; k < peers.Size(); ++k) {
        Peer peer = parse_peer(peers[static_cast<rapidjson::SizeType>(k)], k, document);
        if (std::ranges::find(fleet.names, peer.name) != fleet.names.end()) {
            fields.refuse(fmt::format("peers[{}].name", k).c_str(),
                          fmt::format("is '{}', as another peer's is", peer.name));
        }
        fleet.names.push_back(std::move(peer.name));
        round.members.push_back(peer.member);
        fleet.training.samples_per_second.push_back(peer.samples_per_second);
        fleet.micro_batch_seconds.push_back(peer.micro_batch_seconds);
    }
    if (std::ranges::none_of(round.members, &planning::Member::is_reachable)) {
        fields.refuse("peers", "must hold one that is not outbound_only");
    }
    fleet.codec = fields.text("codec", 8);
    round.contribution = codec_of(fields, "codec", fleet.codec);
    fleet.average_codec =
        fields.has("average_codec") ? fields.text("average_codec", 8) : fleet.codec;
    round.average = codec_of(fields, "average_codec", fleet.average_codec);
    round.elements = parse_elements(fields, round.contribution);
    round.chunk_elements = planning::chunk_elements_for(round);
    if (fields.has("latency_ms")) {
        const double milliseconds = fields.number("latency_ms", 0, kMaxLatencyMs);
        round.latency = Duration{std::llround(milliseconds * 1e6)};
    }
    if (fields.has("target_batch")) {
        fleet.training.target_batch = fields.integer("target_batch", 1, wire::kMaxTargetBatch);
        if (!planning::pace_of(fleet.training)) {
            fields.refuse("target_batch", "needs a contributing peer with samples_per_second");
        }
    }
    if (fields.has("overlap")) fleet.overlaps = fields.boolean("overlap");
    fields.finish();
    return fleet;
}

planning::FleetRequest fleet_request_of(const Fleet& fleet) {
    return {.round = fleet.training.round,
            .samples_per_second = fleet.training.samples_per_second,
            .micro_batch_seconds = fleet.micro_batch_seconds,
            .target_batch = fleet.training.target_batch,
            .overlaps = fleet.overlaps};
}

Fleet read_fleet(const std::filesystem::path& path) {
    return parse_fleet(path.filename().string(), platform::read_text(path));
}

}  // namespace dedloc::plan
