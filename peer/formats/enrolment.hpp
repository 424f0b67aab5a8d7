// What a peer and the project's gateway say to each other before the peer has a ticket: one JSON
// object each way. The authenticator in it is the volunteer's password, so the way is HTTPS
// wherever the project is not on the same machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "peer/formats/ticket.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::formats {

inline constexpr std::size_t kMaxEnrolmentBytes = 4096;  ///< of a request, and of an error
inline constexpr std::size_t kMaxEnrolmentReplyBytes =
    kMaxEnrolmentBytes + 2 * wire::kMaxRevocationsBytes;

/// "I work on this result, and this is my key."
struct EnrolmentRequest {
    std::string authenticator;  ///< of the volunteer's account
    std::uint64_t host = 0;     ///< the volunteer's machine, as the project numbers it
    std::string result;         ///< name of the BOINC result that is worked on
    PeerKey key;
    std::uint16_t port = 0;  ///< where the peer listens; 0: it does not
    bool operator==(const EnrolmentRequest&) const = default;
};

struct EnrolmentReply {
    SignedTicket ticket;
    std::string address{};        ///< numeric; where the request came from, seen from the gateway
    bool is_reachable = false;    ///< the gateway could dial the peer's port at that address
    SignedRevocations revoked{};  ///< of tickets that would still be good
    // What the BOINC client has measured on this computer, as a first guess; at most
    // kMaxBytesPerSecond, and 0, which is not written: not known.
    std::uint64_t upload_bytes_per_second = 0;
    std::uint64_t download_bytes_per_second = 0;
    bool operator==(const EnrolmentReply&) const = default;
};

/// What the gateway tells whoever wants to know whether a peer could take part from where they are.
struct GatewayReport {
    std::string project;                   ///< its name
    UtcSeconds now;                        ///< by the gateway's clock
    std::string address{};                 ///< as in EnrolmentReply
    bool is_reachable = false;             ///< the gateway could dial the port that was named
    std::vector<std::string> dht_seeds{};  ///< of the runs that run, HOST:PORT, at most kMaxSeeds
    bool operator==(const GatewayReport&) const = default;
};
inline constexpr std::size_t kMaxSeeds = 16;

/// Of one transfer that measures the link to a gateway, either way.
inline constexpr std::uint64_t kMaxMeasuredBytes = std::uint64_t{8} << 20;

/// Untrusted input. Errors: InputError, one sentence that names the field. A gateway may say more
/// than we know of: other fields of what it says are ignored.
EnrolmentRequest parse_enrolment_request(std::string_view json);
EnrolmentReply parse_enrolment_reply(std::string_view json);
GatewayReport parse_gateway_report(std::string_view json);
std::uint64_t parse_arrival(std::string_view json);

std::string write_enrolment_request(const EnrolmentRequest& request);
std::string write_enrolment_reply(const EnrolmentReply& reply);
std::string write_gateway_report(const GatewayReport& report);
/// {"bytes": arrived}: the answer to a transfer to the gateway, after its last byte.
std::string write_arrival(std::uint64_t bytes);

/// {"error": sentence}: the reply instead, when there is no ticket.
std::string write_enrolment_error(std::string_view sentence);
/// The sentence of such a reply, without control characters; empty if it is none.
std::string parse_enrolment_error(std::string_view json);

}  // namespace dedloc::formats
