// The documents that a peer and the project's gateway exchange before the peer has a ticket: one
// JSON object in each direction. The authenticator in the request is as good as the volunteer's
// password, so the connection is HTTPS unless the project is on the same machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "peer/base/units.hpp"
#include "peer/formats/ticket.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::formats {

/// Size of a request, a report or an error; and of a reply, which also contains revocations.
inline constexpr std::size_t kMaxEnrolmentBytes = 4096;
inline constexpr std::size_t kMaxEnrolmentReplyBytes =
    kMaxEnrolmentBytes + 2 * wire::kMaxRevocationsBytes;

/// Peer to gateway: I work on this result, and this is my key.
struct EnrolmentRequest {
    std::string authenticator;  ///< authenticator of the volunteer's BOINC account
    std::uint64_t host = 0;     ///< the project's id of the volunteer's machine
    std::string result;         ///< name of the BOINC result that the peer works on
    PeerKey key;                ///< the peer's public key
    std::uint16_t port = 0;     ///< port on which the peer listens; 0: none
    bool operator==(const EnrolmentRequest&) const = default;
};

/// Gateway to peer: the ticket and what the gateway has seen of the peer's network.
struct EnrolmentReply {
    SignedTicket ticket;          ///< permits the peer to take part
    std::string address{};        ///< the numeric address that the request came from
    bool is_reachable = false;    ///< the gateway could connect to the peer's port there
    SignedRevocations revoked{};  ///< tickets that are void before they expire
    // What the BOINC client has measured on this computer, as an initial estimate: at most
    // kMaxBytesPerSecond. nullopt: unknown, and the field is not written.
    std::optional<Bandwidth> upload{};
    std::optional<Bandwidth> download{};
    bool wants_checkpoint = false;  ///< the project asks this job for its state; else not written
    bool operator==(const EnrolmentReply&) const = default;
};

/// Gateway to any client: whether a peer could take part from this client's network.
struct GatewayReport {
    std::string project;                   ///< the project's name
    UtcSeconds now;                        ///< the gateway's clock
    std::string address{};                 ///< EnrolmentReply::address
    bool is_reachable = false;             ///< the gateway could connect to the given port
    std::vector<std::string> dht_seeds{};  ///< HOST:PORT for all active runs, at most kMaxSeeds
    bool operator==(const GatewayReport&) const = default;
};
/// Entries of GatewayReport::dht_seeds.
inline constexpr std::size_t kMaxSeeds = 16;

/// Bytes of one transfer that measures the link to a gateway, in either direction.
inline constexpr std::uint64_t kMaxMeasuredBytes = std::uint64_t{8} << 20;

/// Parsers of untrusted input. Errors: InputError with one sentence that names the field. Unknown
/// fields are refused in a request and ignored in what a gateway sends, which may be newer.
EnrolmentRequest parse_enrolment_request(std::string_view json);
EnrolmentReply parse_enrolment_reply(std::string_view json);
GatewayReport parse_gateway_report(std::string_view json);
/// The answer to an upload that measures the link: how many bytes have arrived.
std::uint64_t parse_arrival(std::string_view json);

/// The same documents as JSON.
std::string write_enrolment_request(const EnrolmentRequest& request);
std::string write_enrolment_reply(const EnrolmentReply& reply);
std::string write_gateway_report(const GatewayReport& report);
/// {"bytes": bytes}: the gateway's answer after the last byte of an upload.
std::string write_arrival(std::uint64_t bytes);

/// {"error": sentence}: the gateway's reply if it cannot do now what a request asks for.
std::string write_enrolment_error(std::string_view sentence);
/// {"error": sentence, "refused": true}: the gateway has read an enrolment request and refuses it
/// for good. Whatever else answers at the gateway's URL, such as a web server without the
/// gateway's line or a captive portal, does not write this.
std::string write_enrolment_refusal(std::string_view sentence);
/// {"error": sentence, "full": true}: the project has no seat for the job until another one ends,
/// so it is of no use to ask again within minutes.
std::string write_enrolment_full(std::string_view sentence);
/// The sentence of any of these replies; empty for any other text, also if the sentence has control
/// characters.
std::string parse_enrolment_error(std::string_view json);
/// Whether the text is a refusal with a sentence.
bool is_enrolment_refusal(std::string_view json);
/// Whether the text says with a sentence that there is no seat.
bool is_enrolment_full(std::string_view json);

}  // namespace dedloc::formats
