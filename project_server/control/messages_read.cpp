// Reading: JsonFields refuses what is missing, unknown, repeated or out of bounds.
#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "peer/base/error.hpp"
#include "peer/formats/json_fields.hpp"
#include "peer/wire/limits.hpp"
#include "project_server/control/message_names.hpp"
#include "project_server/control/messages.hpp"

namespace dedloc::control {
namespace {

using formats::JsonFields;

constexpr const char* kDocument = "control message";
constexpr std::uint64_t kMax = std::uint64_t{1} << 62;
constexpr std::size_t kMaxNameBytes = 64;
constexpr std::array<const char*, 3> kRoleNames{"trainer", "aggregator", "backbone"};

std::uint64_t whole(JsonFields& fields, const char* name) {
    return fields.integer(name, 0, kMax);
}

template <class Bytes>
Bytes bytes(JsonFields& fields, const char* name) {
    Bytes value;
    fields.hex(name, value.bytes);
    return value;
}

/// The place of the field's value among the names.
template <std::size_t kCount>
std::size_t choice(JsonFields& fields, const char* name,
                   const std::array<const char*, kCount>& names) {
    const std::string text = fields.text(name, kMaxNameBytes);
    const auto found = std::ranges::find(names, text);
    if (found == names.end()) fields.refuse(name, "has an unknown value");
    return static_cast<std::size_t>(found - names.begin());
}

/// A line for people, in ASCII as it is written.
std::string line(JsonFields& fields, const char* name) {
    std::string text = fields.text(name, kMaxTextBytes);
    const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x7F; };
    if (!std::ranges::all_of(text, is_ascii)) fields.refuse(name, "is not ASCII");
    return text;
}

MemberView member(JsonFields& fields) {
    return {.key = bytes<PeerKey>(fields, "key"),
            .role = kRoleNames.at(choice(fields, "role", kRoleNames)),
            .user = whole(fields, "user"),
            .has_state = fields.boolean("has_state")};
}

StepView step(JsonFields& fields) {
    StepView view{.step = whole(fields, "step"),
                  .samples = whole(fields, "samples"),
                  .loss = fields.number("loss", -kMaxNumber, kMaxNumber),
                  .seconds = fields.number("seconds", 0, kMaxNumber),
                  .members = whole(fields, "members"),
                  .digest = {}};
    if (!fields.has("digest")) return view;
    view.digest = bytes<Digest>(fields, "digest");
    view.reported = whole(fields, "reported");
    view.equal = whole(fields, "equal");
    return view;
}

ProgressView progress(JsonFields& fields) {
    return {.step = whole(fields, "step"),
            .samples = whole(fields, "samples"),
            .samples_per_second = fields.number("samples_per_second", 0, kMaxNumber),
            .trainers = whole(fields, "trainers"),
            .coordinator = bytes<PeerKey>(fields, "coordinator")};
}

RunState state(JsonFields& fields) {
    return static_cast<RunState>(choice(fields, "state", kStateNames));
}

Happening happening(JsonFields& fields) {
    switch (choice(fields, "event", kEventNames)) {
        case 0:
            return StepCommitted{step(fields)};
        case 1:
            return StepSettled{.step = whole(fields, "step"),
                               .digest = bytes<Digest>(fields, "digest"),
                               .reported = whole(fields, "reported"),
                               .equal = whole(fields, "equal")};
        case 2:
            return StepsVoid{whole(fields, "step")};
        case 3:
            return MemberJoined{member(fields)};
        case 4:
            return MemberLeft{bytes<PeerKey>(fields, "key")};
        case 5:
            return Progress{progress(fields)};
        case 6:
            return StateChanged{state(fields)};
        default:
            return Suspicion{.key = bytes<PeerKey>(fields, "key"),
                             .what = line(fields, "what"),
                             .step = whole(fields, "step"),
                             .text = line(fields, "text")};
    }
}

Snapshot snapshot(JsonFields& fields) {
    Snapshot view{.session = whole(fields, "session"),
                  .sequence = whole(fields, "sequence"),
                  .run = fields.text("run", kMaxNameBytes),
                  .steps = whole(fields, "steps"),
                  .target_batch = whole(fields, "target_batch"),
                  .state = state(fields),
                  .progress = {},
                  .recent = {},
                  .members = {}};
    JsonFields now = fields.object("progress");
    view.progress = progress(now);
    now.finish();
    for (JsonFields& entry : fields.objects("recent", 0, kRecentSteps)) {
        view.recent.push_back(step(entry));
        entry.finish();
    }
    for (JsonFields& entry : fields.objects("members", 0, kMaxMembers)) {
        view.members.push_back(member(entry));
        entry.finish();
    }
    if (std::ranges::adjacent_find(view.recent, std::ranges::greater_equal{}, &StepView::step) !=
        view.recent.end()) {
        fields.refuse("recent", "is not in ascending order");
    }
    if (std::ranges::adjacent_find(view.members, std::ranges::greater_equal{}, &MemberView::key) !=
        view.members.end()) {
        fields.refuse("members", "is not in ascending order");
    }
    return view;
}

std::vector<std::uint64_t> ids(JsonFields& fields, const char* name) {
    std::vector<std::uint64_t> ids;
    for (const auto& value : fields.array(name, 0, kMaxNamed).GetArray()) {
        if (!value.IsUint64() || value.GetUint64() > kMax) {
            fields.refuse(name, "has an element that is no id");
        }
        ids.push_back(value.GetUint64());
    }
    return ids;
}

std::vector<PeerKey> keys(JsonFields& fields, const char* name) {
    std::vector<PeerKey> keys;
    for (const auto& value : fields.array(name, 0, kMaxNamed).GetArray()) {
        PeerKey key;
        const bool is_key =
            value.IsString() &&
            from_hex(std::string_view{value.GetString(), value.GetStringLength()}, key.bytes);
        if (!is_key) fields.refuse(name, "has an element that is no key");
        keys.push_back(key);
    }
    return keys;
}

Revocation revocation(JsonFields& fields) {
    return {.users = ids(fields, "users"),
            .hosts = ids(fields, "hosts"),
            .keys = keys(fields, "keys"),
            .voters = keys(fields, "voters")};
}

Mix mix(JsonFields& fields) {
    Mix mix;
    for (const auto& value : fields.array("weights", 1, wire::kMaxSources).GetArray()) {
        if (!value.IsUint64() || value.GetUint64() > wire::kMaxSourceWeight) {
            fields.refuse("weights", "has an element that is no weight");
        }
        mix.weights.push_back(value.GetUint64());
    }
    if (fields.has("from")) mix.from = fields.integer("from", 1, wire::kMaxStep);
    return mix;
}

SignedPause pause(JsonFields& fields) {
    SignedPause pause;
    pause.count = fields.integer("count", 1, wire::kMaxPauseCount);
    fields.hex("signature", pause.signature);
    fields.finish();
    return pause;
}

void check_version(JsonFields& fields) {
    if (fields.integer("version", 0, kMax) != kVersion) {
        fields.refuse("version", "is of another version of this program");
    }
}

}  // namespace

Event read_event(std::string_view text) {
    const auto json = formats::parse_json(kDocument, text, kMaxMessageBytes);
    JsonFields fields(json, "", kDocument);
    check_version(fields);
    Event event{.session = whole(fields, "session"),
                .sequence = fields.integer("sequence", 1, kMax),
                .time = fields.number("time", 0, kMaxNumber),
                .what = {}};
    event.what = happening(fields);
    fields.finish();
    return event;
}

Request read_request(std::string_view text) {
    const auto json = formats::parse_json(kDocument, text, kMaxMessageBytes);
    JsonFields fields(json, "", kDocument);
    check_version(fields);
    Request request{.command = static_cast<Command>(choice(fields, "command", kCommandNames)),
                    .revocation = {}};
    if (request.command == Command::kRevoke || request.command == Command::kForgive) {
        request.revocation = revocation(fields);
    }
    if (request.command == Command::kMix) request.mix = mix(fields);
    if (request.command == Command::kAddSource) fields.hex("source", request.source.bytes);
    const bool may_pause =
        request.command == Command::kPause || request.command == Command::kResume;
    if (may_pause && fields.has("pause")) {
        JsonFields order = fields.object("pause");
        request.pause = pause(order);
    }
    fields.finish();
    return request;
}

Reply read_reply(std::string_view text) {
    const auto json = formats::parse_json(kDocument, text, kMaxMessageBytes);
    JsonFields fields(json, "", kDocument);
    check_version(fields);
    Reply reply{
        .is_done = fields.boolean("ok"), .note = line(fields, "note"), .step = {}, .snapshot = {}};
    if (fields.has("step")) reply.step = whole(fields, "step");
    if (fields.has("snapshot")) {
        JsonFields whole_picture = fields.object("snapshot");
        reply.snapshot = snapshot(whole_picture);
        whole_picture.finish();
    }
    fields.finish();
    return reply;
}

}  // namespace dedloc::control
