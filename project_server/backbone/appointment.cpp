#include "project_server/backbone/appointment.hpp"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <array>
#include <span>

#include "peer/base/bytes.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/json_fields.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::backbone {
namespace {

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

constexpr const char* kFormat = "dedloc voter 1";
/// The run file is embedded as a JSON string, and each byte of it may be escaped.
constexpr std::size_t kMaxFileBytes = 6 * formats::kMaxRunFileBytes + 64 * 1024;
constexpr std::size_t kMaxSeeds = 16;
constexpr std::size_t kMaxAddressBytes = 300;

void write_member(Writer& writer, const char* name, const std::string& text) {
    writer.Key(name);
    writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

void write_settings(Writer& writer, const VoterSettings& settings) {
    writer.StartObject();
    write_member(writer, "ticket", to_hex(formats::encode(settings.ticket)));
    writer.Key("generation");
    writer.Uint64(settings.generation);
    writer.Key("seeds");
    writer.StartArray();
    for (const std::string& seed : settings.seeds) writer.String(seed.c_str());
    writer.EndArray();
    if (!settings.backbone.empty()) write_member(writer, "backbone", settings.backbone);
    writer.EndObject();
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
    fields.finish();
    return settings;
}

}  // namespace

std::string write_voter_settings(const VoterSettings& settings) {
    rapidjson::StringBuffer buffer;
    Writer writer(buffer);
    write_settings(writer, settings);
    return std::string(buffer.GetString()) + "\n";
}

std::string write_appointment(const Appointment& appointment) {
    rapidjson::StringBuffer buffer;
    Writer writer(buffer);
    writer.StartObject();
    write_member(writer, "format", kFormat);
    write_member(writer, "run_file", formats::write_run_file(appointment.run));
    write_member(writer, "key", to_hex(appointment.key.seed()));
    writer.Key("voter");
    write_settings(writer, appointment.settings);
    writer.EndObject();
    return std::string(buffer.GetString()) + "\n";
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
