// JSON by rapidjson's writer and by JsonFields. A request must have exactly the known fields,
// because the gateway defines it. Replies and reports of the gateway may have more (no finish()),
// so that a newer gateway can serve older peers. Tickets and revocations travel as hex of their
// binary form.
#include "peer/formats/enrolment.hpp"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <array>

#include "peer/base/bytes.hpp"
#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/json_fields.hpp"
#include "peer/formats/json_puts.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::formats {
namespace {

constexpr std::size_t kMaxTextBytes = 254;  // size of BOINC's database columns
constexpr const char* kUpload = "upload_bytes_per_second";
constexpr const char* kDownload = "download_bytes_per_second";
constexpr const char* kCheckpoint = "wants_checkpoint";
constexpr const char* kRefused = "refused";
constexpr const char* kFull = "full";

using JsonWriter = rapidjson::Writer<rapidjson::StringBuffer>;

/// A JSON object with the fields that `fill` writes.
template <class Fill>
std::string object(const Fill& fill) {
    rapidjson::StringBuffer buffer;
    JsonWriter out(buffer);
    out.StartObject();
    fill(out);
    out.EndObject();
    return {buffer.GetString(), buffer.GetSize()};
}

SignedRevocations read_revocations(JsonFields& fields) {
    const std::string text = fields.text("revoked", 2 * wire::kMaxRevocationsBytes);
    Buffer bytes(text.size() / 2);
    const auto revocations = from_hex(text, bytes) ? decode_revocations(bytes) : std::nullopt;
    if (!revocations) fields.refuse("revoked", "is no list of revocations");
    return *revocations;
}

std::optional<Bandwidth> read_rate(JsonFields& fields, const char* name) {
    if (!fields.has(name)) return std::nullopt;
    return known_bandwidth(fields.integer(name, 0, wire::kMaxBytesPerSecond));
}

void put_rate(JsonWriter& out, const char* name, std::optional<Bandwidth> rate) {
    if (!rate) return;
    DEDLOC_CHECK(rate > Bandwidth{0}, "a known bandwidth is above 0");
    out.Key(name);
    out.Uint64(rate->value());
}

std::string error_with(const char* flag, std::string_view sentence) {
    return object([&](JsonWriter& out) {
        put(out, "error", sentence);
        out.Key(flag);
        out.Bool(true);
    });
}

/// Whether the text is an error with a sentence and this flag.
bool is_error_with(const char* flag, std::string_view json) {
    if (parse_enrolment_error(json).empty()) return false;
    try {
        const rapidjson::Document document =
            parse_json("the gateway's reply", json, kMaxEnrolmentBytes);
        JsonFields fields{document, "", "the gateway's reply"};
        return fields.has(flag) && fields.boolean(flag);
    } catch (const InputError&) {
        return false;
    }
}

}  // namespace

EnrolmentRequest parse_enrolment_request(std::string_view json) {
    const std::string what = "the enrolment request";
    const rapidjson::Document document = parse_json(what, json, kMaxEnrolmentBytes);
    JsonFields fields{document, "", what};
    EnrolmentRequest request;
    request.authenticator = fields.text("authenticator", kMaxTextBytes);
    request.host = fields.integer("host", 1, ~std::uint32_t{0});
    request.result = fields.text("result", kMaxTextBytes);
    fields.hex("key", request.key.bytes);
    request.port = static_cast<std::uint16_t>(fields.integer("port", 0, 65'535));
    fields.finish();
    return request;
}

EnrolmentReply parse_enrolment_reply(std::string_view json) {
    const std::string what = "the gateway's reply";
    const rapidjson::Document document = parse_json(what, json, kMaxEnrolmentReplyBytes);
    JsonFields fields{document, "", what};
    std::array<std::byte, wire::kTicketBytes> bytes{};
    fields.hex("ticket", bytes);
    const auto ticket = decode_ticket(bytes);
    if (!ticket) fields.refuse("ticket", "is no ticket");
    EnrolmentReply reply;
    reply.ticket = *ticket;
    reply.revoked = read_revocations(fields);
    reply.address = fields.text("address", wire::kMaxHostBytes);
    reply.is_reachable = fields.boolean("reachable");
    reply.upload = read_rate(fields, kUpload);
    reply.download = read_rate(fields, kDownload);
    reply.wants_checkpoint = fields.has(kCheckpoint) && fields.boolean(kCheckpoint);
    return reply;
}

GatewayReport parse_gateway_report(std::string_view json) {
    const std::string what = "the gateway's report";
    const rapidjson::Document document = parse_json(what, json, kMaxEnrolmentBytes);
    JsonFields fields{document, "", what};
    GatewayReport report;
    report.project = fields.text("project", kMaxTextBytes);
    report.now = UtcSeconds{std::chrono::seconds{
        fields.integer("now", 0, static_cast<std::uint64_t>(wire::kMaxUtcSeconds))}};
    report.address = fields.text("address", wire::kMaxHostBytes);
    report.is_reachable = fields.boolean("reachable");
    for (const auto& seed : fields.array("dht_seeds", 0, kMaxSeeds).GetArray()) {
        if (!seed.IsString()) fields.refuse("dht_seeds", "must be texts");
        report.dht_seeds.emplace_back(seed.GetString(), seed.GetStringLength());
    }
    return report;
}

std::uint64_t parse_arrival(std::string_view json) {
    const std::string what = "the gateway's answer to a transfer";
    const rapidjson::Document document = parse_json(what, json, kMaxEnrolmentBytes);
    return JsonFields{document, "", what}.integer("bytes", 0, kMaxMeasuredBytes);
}

std::string write_enrolment_request(const EnrolmentRequest& request) {
    return object([&](JsonWriter& out) {
        put(out, "authenticator", request.authenticator);
        out.Key("host");
        out.Uint64(request.host);
        put(out, "result", request.result);
        put(out, "key", request.key.hex());
        out.Key("port");
        out.Uint(request.port);
    });
}

std::string write_enrolment_reply(const EnrolmentReply& reply) {
    return object([&](JsonWriter& out) {
        put(out, "ticket", to_hex(encode(reply.ticket)));
        put(out, "revoked", to_hex(encode(reply.revoked)));
        put(out, "address", reply.address);
        out.Key("reachable");
        out.Bool(reply.is_reachable);
        put_rate(out, kUpload, reply.upload);
        put_rate(out, kDownload, reply.download);
        if (!reply.wants_checkpoint) return;
        out.Key(kCheckpoint);
        out.Bool(true);
    });
}

std::string write_gateway_report(const GatewayReport& report) {
    return object([&](JsonWriter& out) {
        put(out, "project", report.project);
        out.Key("now");
        out.Int64(std::int64_t{report.now.time_since_epoch().count()});
        put(out, "address", report.address);
        out.Key("reachable");
        out.Bool(report.is_reachable);
        out.Key("dht_seeds");
        out.StartArray();
        for (const std::string& seed : report.dht_seeds) {
            out.String(seed.data(), static_cast<rapidjson::SizeType>(seed.size()));
        }
        out.EndArray();
    });
}

std::string write_arrival(std::uint64_t bytes) {
    return object([&](JsonWriter& out) {
        out.Key("bytes");
        out.Uint64(bytes);
    });
}

std::string write_enrolment_error(std::string_view sentence) {
    return object([&](JsonWriter& out) { put(out, "error", sentence); });
}

std::string write_enrolment_refusal(std::string_view sentence) {
    return error_with(kRefused, sentence);
}

std::string write_enrolment_full(std::string_view sentence) {
    return error_with(kFull, sentence);
}

std::string parse_enrolment_error(std::string_view json) {
    try {
        const rapidjson::Document document =
            parse_json("the gateway's reply", json, kMaxEnrolmentBytes);
        return JsonFields{document, "", "the gateway's reply"}.text("error", kMaxEnrolmentBytes);
    } catch (const InputError&) {
        return {};
    }
}

bool is_enrolment_refusal(std::string_view json) {
    return is_error_with(kRefused, json);
}

bool is_enrolment_full(std::string_view json) {
    return is_error_with(kFull, json);
}

}  // namespace dedloc::formats
