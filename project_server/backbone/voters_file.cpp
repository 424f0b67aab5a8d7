#include "project_server/backbone/voters_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/formats/json_fields.hpp"
#include "peer/platform/files.hpp"
#include "peer/wire/limits.hpp"
#include "project_server/control/place.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::backbone {
namespace {

constexpr std::size_t kMaxFileBytes = 64 * 1024;
constexpr std::size_t kMaxAddressBytes = 300;

WantedVoter read_voter(const rapidjson::Value& value, std::size_t number,
                       const std::string& document) {
    if (!value.IsObject()) {
        throw InputError(fmt::format("{}: voter {} is no object", document, number));
    }
    formats::JsonFields fields(value, fmt::format("voters[{}]", number), document);
    WantedVoter voter;
    fields.hex("key", voter.key.bytes);
    voter.ticket_expires = formats::UtcSeconds{
        std::chrono::seconds{fields.integer("ticket_expires", 0, wire::kMaxUtcSeconds)}};
    if (fields.has("control")) {
        voter.control = fields.text("control", kMaxAddressBytes);
        (void)control::parse_remote_end(voter.control, document);
    }
    fields.finish();
    return voter;
}

}  // namespace

std::vector<PeerKey> keys_of(const WantedVoters& wanted) {
    std::vector<PeerKey> keys;
    for (const WantedVoter& voter : wanted.voters) keys.push_back(voter.key);
    return keys;
}

std::optional<WantedVoters> read_voters(const std::filesystem::path& file) {
    if (!std::filesystem::exists(file)) return std::nullopt;
    const std::string document = file.string();
    const auto json = formats::parse_json(document, platform::read_text(file), kMaxFileBytes);
    formats::JsonFields fields(json, "", document);
    WantedVoters wanted;
    wanted.min_generation = fields.integer("min_generation", 0, wire::kMaxGeneration);
    const auto& voters = fields.array("voters", 1, wire::kMaxVoters);
    for (rapidjson::SizeType i = 0; i < voters.Size(); ++i) {
        wanted.voters.push_back(read_voter(voters[i], i, document));
    }
    fields.finish();
    const auto is_unordered = [](const WantedVoter& a, const WantedVoter& b) {
        return a.key >= b.key;
    };
    if (std::ranges::adjacent_find(wanted.voters, is_unordered) != wanted.voters.end()) {
        throw InputError(document + ": the keys of voters are not in ascending order");
    }
    return wanted;
}

void write_voters(const std::filesystem::path& file, const WantedVoters& wanted) {
    json::Value::List voters;
    for (const WantedVoter& voter : wanted.voters) {
        json::Value& data = voters.emplace_back();
        data.set("key", voter.key.hex())
            .set("ticket_expires", voter.ticket_expires.time_since_epoch().count());
        if (!voter.control.empty()) data.set("control", voter.control);
    }
    json::Value data;
    data.set("min_generation", wanted.min_generation).set("voters", std::move(voters));
    platform::replace_file(file, json::write_pretty(data) + "\n");
}

}  // namespace dedloc::backbone
