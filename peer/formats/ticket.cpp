// Fixed little-endian layouts that begin with a format number; change the number with the layout.
// The signature covers a digest with a preamble of its own. Decoders check format and exact size
// first, then the bounds of every field. The sets of a revocation list are read in ascending order
// only, so a list has exactly one encoding.
#include "peer/formats/ticket.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::formats {
namespace {

/// Versions of the two layouts.
constexpr std::uint32_t kTicketFormat = 2;
constexpr std::uint32_t kRevocationsFormat = 2;

std::int64_t count(UtcSeconds time) {
    return std::int64_t{time.time_since_epoch().count()};
}

bool is_within_bounds(const Ticket& ticket) {
    const Job& job = ticket.job;
    const std::int64_t issued = count(ticket.issued);
    const std::int64_t expires = count(ticket.expires);
    return job.user <= wire::kMaxJobId && job.host <= wire::kMaxJobId &&
           job.result <= wire::kMaxJobId &&
           ticket.max_samples_per_second <= wire::kMaxSamplesPerSecond && issued >= 0 &&
           issued < expires && expires <= wire::kMaxUtcSeconds;
}

void write_fields(ByteWriter& out, const Ticket& ticket) {
    out.append(ticket.run.bytes);
    out.append(ticket.peer.bytes);
    out.write(ticket.job.user);
    out.write(ticket.job.host);
    out.write(ticket.job.result);
    out.write(ticket.max_samples_per_second);
    out.write(count(ticket.issued));
    out.write(count(ticket.expires));
}

template <std::size_t N>
void read_bytes(ByteReader& in, std::array<std::byte, N>& bytes) {
    if (const auto taken = in.take(N)) std::copy(taken->begin(), taken->end(), bytes.begin());
}

bool is_within_bounds(const Revocations& revocations) {
    const std::int64_t as_of = count(revocations.as_of);
    return revocations.size() <= wire::kMaxRevocations && as_of >= 0 &&
           as_of <= wire::kMaxUtcSeconds;
}

void write_fields(ByteWriter& out, const Revocations& revocations) {
    out.write(count(revocations.as_of));
    for (const std::size_t size :
         {revocations.users.size(), revocations.hosts.size(), revocations.peers.size()}) {
        out.write(static_cast<std::uint32_t>(size));
    }
    for (const auto* ids : {&revocations.users, &revocations.hosts}) {
        for (const std::uint64_t id : *ids) out.write(id);
    }
    for (const PeerKey& peer : revocations.peers) out.append(peer.bytes);
}

/// Reads `count` strictly ascending entries; false if they are in another order.
template <class Entry, class Read>
bool read_set(std::set<Entry>& entries, std::size_t count, const Read& read) {
    for (std::size_t i = 0; i < count; ++i) {
        const Entry entry = read();
        if (!entries.empty() && !(*entries.rbegin() < entry)) return false;
        entries.insert(entries.end(), entry);
    }
    return true;
}

}  // namespace

Digest digest_of(const Ticket& ticket) {
    ByteWriter out;
    out.append(bytes_of("DeDLOC@home ticket 2\n"));
    write_fields(out, ticket);
    return blake2b(std::move(out).finish());
}

SignedTicket sign(const Ticket& ticket, const KeyPair& signer) {
    DEDLOC_CHECK(is_within_bounds(ticket), "every field of the ticket is within its bounds",
                 count(ticket.issued), count(ticket.expires));
    return {.ticket = ticket, .signature = signer.sign(digest_of(ticket).bytes)};
}

bool is_signed_by(const PeerKey& signer, const SignedTicket& ticket) {
    return verify(signer, digest_of(ticket.ticket).bytes, ticket.signature);
}

bool is_signed_by(const TicketSigners& signers, const SignedTicket& ticket) {
    // Most tickets are the gateway's.
    if (signers.gateway && is_signed_by(*signers.gateway, ticket)) return true;
    return is_signed_by(signers.project, ticket);
}

Buffer encode(const SignedTicket& ticket) {
    DEDLOC_CHECK(is_within_bounds(ticket.ticket), "every field of the ticket is within its bounds");
    ByteWriter out;
    out.write(kTicketFormat);
    write_fields(out, ticket.ticket);
    out.append(ticket.signature);
    Buffer bytes = std::move(out).finish();
    DEDLOC_CHECK(bytes.size() == wire::kTicketBytes, "a ticket has kTicketBytes", bytes.size());
    return bytes;
}

std::optional<SignedTicket> decode_ticket(std::span<const std::byte> bytes) {
    if (bytes.size() != wire::kTicketBytes) return {};
    ByteReader in(bytes);
    if (in.read<std::uint32_t>() != kTicketFormat) return {};
    SignedTicket signed_ticket;
    Ticket& ticket = signed_ticket.ticket;
    read_bytes(in, ticket.run.bytes);
    read_bytes(in, ticket.peer.bytes);
    for (std::uint64_t* number :
         {&ticket.job.user, &ticket.job.host, &ticket.job.result, &ticket.max_samples_per_second}) {
        *number = in.read<std::uint64_t>().value_or(~std::uint64_t{0});
    }
    for (UtcSeconds* time : {&ticket.issued, &ticket.expires}) {
        *time = UtcSeconds{std::chrono::seconds{in.read<std::int64_t>().value_or(-1)}};
    }
    read_bytes(in, signed_ticket.signature);
    if (!is_within_bounds(ticket)) return {};
    return signed_ticket;
}

bool Revocations::covers(const Ticket& ticket) const {
    const Job& job = ticket.job;
    return peers.contains(ticket.peer) || (job.user != 0 && users.contains(job.user)) ||
           (job.host != 0 && hosts.contains(job.host));
}

Digest digest_of(const Revocations& revocations) {
    ByteWriter out;
    out.append(bytes_of("DeDLOC@home revocations 2\n"));
    write_fields(out, revocations);
    return blake2b(std::move(out).finish());
}

SignedRevocations sign(Revocations revocations, const KeyPair& project) {
    DEDLOC_CHECK(is_within_bounds(revocations), "the revocations are within their bounds",
                 revocations.size());
    const Signature signature = project.sign(digest_of(revocations).bytes);
    return {.revocations = std::move(revocations), .signature = signature};
}

bool is_signed_by(const PeerKey& project, const SignedRevocations& revocations) {
    return verify(project, digest_of(revocations.revocations).bytes, revocations.signature);
}

Buffer encode(const SignedRevocations& revocations) {
    DEDLOC_CHECK(is_within_bounds(revocations.revocations),
                 "the revocations are within their bounds", revocations.revocations.size());
    ByteWriter out;
    out.write(kRevocationsFormat);
    write_fields(out, revocations.revocations);
    out.append(revocations.signature);
    return std::move(out).finish();
}

std::optional<SignedRevocations> decode_revocations(std::span<const std::byte> bytes) {
    if (bytes.size() > wire::kMaxRevocationsBytes) return {};
    ByteReader in(bytes);
    if (in.read<std::uint32_t>() != kRevocationsFormat) return {};
    SignedRevocations all;
    Revocations& revocations = all.revocations;
    revocations.as_of = UtcSeconds{std::chrono::seconds{in.read<std::int64_t>().value_or(-1)}};
    std::array<std::uint64_t, 3> counts{};
    for (std::uint64_t& count : counts) count = in.read<std::uint32_t>().value_or(0);
    const auto [users, hosts, peers] = counts;
    if (users + hosts + peers > wire::kMaxRevocations) return {};
    if (in.remaining() != 8 * (users + hosts) + 32 * peers + wire::kSignatureBytes) return {};
    const auto read_id = [&] { return in.read<std::uint64_t>().value_or(0); };
    const auto read_key = [&] {
        PeerKey key;
        read_bytes(in, key.bytes);
        return key;
    };
    if (!read_set(revocations.users, users, read_id) ||
        !read_set(revocations.hosts, hosts, read_id) ||
        !read_set(revocations.peers, peers, read_key)) {
        return {};
    }
    if (!is_within_bounds(revocations)) return {};
    read_bytes(in, all.signature);
    return all;
}

}  // namespace dedloc::formats
