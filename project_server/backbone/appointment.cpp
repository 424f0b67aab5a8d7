// Both files are read strictly: every member is asked for by name, and unknown ones are refused.
// The voter's settings are read and written by the same two functions in both. read_appointment()
// checks the ticket when everything is read; the ticket in voter.json is checked by the reader of
// the folder, which knows run and key. The run file is embedded as a string and parsed as a
// document of its own. An object "control", which a former release wrote, is accepted and ignored.
#include "project_server/backbone/appointment.hpp"

#include <fmt/format.h>

#include <array>
#include <span>
#include <utility>

#include "peer/base/bytes.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/json_fields.hpp"
#include "peer/wire/limits.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::backbone {
namespace {

constexpr const char* kFormat = "dedloc voter 1";
/// The run file is embedded as a JSON string, and each byte of it may be escaped.
constexpr std::size_t kMaxFileBytes = 6 * formats::kMaxRunFileBytes + 64 * 1024;
constexpr std::size_t kMaxSeeds = 16;
constexpr std::size_t kMaxAddressBytes = 300;

json::Value data_of(const VoterSettings& settings) {
    json::Value data;
    data.set("ticket", to_hex(formats::encode(settings.ticket)))
        .set("generation", settings.generation)
        .set("seeds", json::Value::List(settings.seeds.begin(), settings.seeds.end()));
    if (!settings.backbone.empty()) data.set("backbone", settings.backbone);
    return data;
}

VoterSettings read_settings(formats::JsonFields fields, const std::string& document) {
    VoterSettings settings;
    std::array<std::byte, wire::kTicketBytes> ticket{};
    fields.hex("ticket", ticket);
    const auto decoded = formats::decode_ticket(ticket);
    if (!decoded) fields.refuse("ticket", "is no ticket");
    settings.ticket = *decoded;
    settings.generation = fields.integer("generation", 0, wire::kMaxGeneration);
    for (const auto& seed : fields.array("seeds", 1, kMaxSeeds).GetArray()) {
        if (!seed.IsString() || seed.GetStringLength() > kMaxAddressBytes) {
            throw InputError(document + ": a seed is no HOST:PORT");
        }
        settings.seeds.emplace_back(seed.GetString(), seed.GetStringLength());
    }
    if (fields.has("backbone")) settings.backbone = fields.text("backbone", kMaxAddressBytes);
    if (fields.has("control")) (void)fields.object("control");  // ports of a former release
    fields.finish();
    return settings;
}

}  // namespace

std::string write_voter_settings(const VoterSettings& settings) {
    return json::write(data_of(settings)) + "\n";
}

std::string write_appointment(const Appointment& appointment) {
    json::Value data;
    data.set("format", kFormat)
        .set("run_file", formats::write_run_file(appointment.run))
        .set("key", to_hex(appointment.key.seed()))
        .set("voter", data_of(appointment.settings));
    return json::write(data) + "\n";
}

VoterSettings read_voter_settings(std::string_view text, const std::string& document) {
    const auto json = formats::parse_json(document, text, kMaxFileBytes);
    return read_settings(formats::JsonFields(json, "", document), document);
}

Appointment read_appointment(std::string_view text, const std::string& document) {
    const auto json = formats::parse_json(document, text, kMaxFileBytes);
    formats::JsonFields fields(json, "", document);
    if (fields.text("format", 64) != kFormat) {
        fields.refuse("format", fmt::format("is not \"{}\"", kFormat));
    }
    std::array<std::byte, 32> seed{};
    fields.hex("key", seed);
    Appointment appointment{
        .run = formats::parse_run_file(fields.text("run_file", formats::kMaxRunFileBytes)),
        .key = KeyPair::from_seed(seed),
        .settings = read_settings(fields.object("voter"), document)};
    fields.finish();
    check_voter_settings(appointment.settings, appointment.run, appointment.key.public_key(),
                         document);
    return appointment;
}

void check_voter_settings(const VoterSettings& settings, const formats::RunFile& run,
                          const PeerKey& key, const std::string& document) {
    const formats::Ticket& ticket = settings.ticket.ticket;
    if (!formats::is_signed_for(run, settings.ticket)) {
        throw InputError(document + ": the ticket is not signed by the run's project");
    }
    if (ticket.run != formats::run_id(run)) {
        throw InputError(document + ": the ticket is for another run");
    }
    if (ticket.peer != key) throw InputError(document + ": the ticket is for another key");
}

}  // namespace dedloc::backbone
