// The handshake of a link: both ends prove their key and ticket to each other and agree on secret
// session keys. It is a pure state machine: bytes in, bytes out. The time is an argument; only the
// random numbers come from libsodium.
//
//     dialler                                            listener
//        Hello {versions, encrypts, ephemeral key}  ───►
//                                            ◄───  Hello {the same}
//        [Proof {ticket, signature}]  ───►                 [ ] sealed with keys that
//                                            ◄───  [Proof]     follow from both
//        [Verdict]  ───►                                       ephemeral keys and Hellos
//
// The dialler proves itself first, so a client without a ticket learns only that a peer listens. A
// signature covers the signer's side, its ticket and the whole transcript, so it cannot be replayed
// in another handshake. A Hello that is modified in transit gives the two ends different keys, so
// no later message decrypts. An end that refuses sends [Refusal {code}] instead of its next
// message. Before there are keys it only closes the connection: both Hellos show the reason. The
// pattern is SIGMA (Krawczyk, "SIGMA: the 'SIGn-and-MAc' approach", CRYPTO 2003) in the variant
// where the dialler reveals its identity first.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/formats/ticket.hpp"
#include "peer/net/session/link_refusal.hpp"
#include "peer/net/session/secret_key.hpp"
#include "peer/net/session/stream_cipher.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::net {

/// The credentials of a peer and what it requires of the other end.
struct SessionOptions {
    PeerKey project;                              ///< signs tickets of the run
    std::optional<PeerKey> ticket_key{};          ///< RunFile::ticket_key: signs tickets, too
    RunId run;                                    ///< both tickets must be for this run
    KeyPair key;                                  ///< this peer's key
    std::optional<formats::SignedTicket> ticket;  ///< for `key`; nothing: every peer refuses us
    bool encrypts = true;                ///< false: frames are plain, for a trusted network
    bool has_aes = processor_has_aes();  ///< this end can use Cipher::kAes256Gcm
    formats::Revocations revocations{};  ///< revocations known at the start
};

/// Range of supported versions of the handshake and of the frames after it; a new kind of frame is
/// a new version. Version 1 had no receipt and ticket frames, and its pings did not announce the
/// next ping. Tickets of version 2 did not say how fast the job's device trains. Version 3 did not
/// number its data frames and had one connection for each link.
struct LinkVersions {
    std::uint16_t oldest = 4;  ///< at least 1
    std::uint16_t newest = 4;  ///< the highest version in both ranges is used
};

/// kNone if the ticket is valid in this run now, else the reason. This does not prove that the
/// other end holds the ticket's key.
LinkRefusal judge(const std::optional<formats::SignedTicket>& ticket, const SessionOptions& session,
                  formats::UtcSeconds now, const formats::Revocations& revoked);

/// Role in a handshake; part of the signed bytes.
enum class Side : std::uint8_t { kDialler = 0, kListener = 1 };

/// Names a link to its two ends when a connection is attached to it. Visible on the wire.
struct FlowToken {
    std::array<std::byte, 16> bytes{};  ///< derived from the link's keys
    auto operator<=>(const FlowToken&) const = default;
};

/// What the two ends of a link know, and no other peer: it lets them attach flows to the link
/// (flow_handshake.hpp).
struct FlowSecret {
    FlowToken token{};  ///< no secret
    SecretKey key{};    ///< for proofs and for the keys of flows
};

/// The result of a completed handshake.
struct Proven {
    formats::Ticket peer;         ///< the other end's ticket; it has proven that ticket's key
    formats::UtcSeconds expires;  ///< when the ticket that this end has shown expires
    std::uint16_t version = 0;    ///< the highest version that both ends speak
    bool encrypts = true;         ///< frames after the handshake are sealed
    Cipher cipher = Cipher::kXChaCha20;  ///< seals them; AES-256-GCM if both ends have it
    SecretKey send;                      ///< seals the frames that this end sends
    SecretKey receive;                   ///< opens the frames that this end receives
    FlowSecret flows;                    ///< attaches more connections to the link

    /// What a sealed codec needs; as long as this lives.
    LinkKeys keys() const {
        return {.cipher = cipher, .send = send.bytes, .receive = receive.bytes};
    }
};

/// Whether a peer that has proven its key may open one more link now; kNone: it may.
using Admit = std::function<LinkRefusal(const PeerKey& opener)>;

/// One end of one handshake. Give every message to take() and send what it returns.
class Handshake {
  public:
    /// Size of a Hello: magic, oldest, newest, encrypts, ephemeral key
    static constexpr std::size_t kHelloBytes = 4 + 2 + 2 + 4 + 32;
    /// Size of a sealed message: kind and code or abilities, ticket, signature, authenticator
    static constexpr std::size_t kSealedBytes = 2 + wire::kTicketBytes + wire::kSignatureBytes + 16;

    /// `expected`: refuse an end that proves another key. `options` must outlive the handshake.
    Handshake(const SessionOptions& options, Side side, std::optional<PeerKey> expected = {},
              LinkVersions versions = {});
    ~Handshake();
    Handshake(const Handshake&) = delete;
    Handshake& operator=(const Handshake&) = delete;

    /// The dialler's Hello; empty for the listener. Call it once.
    Buffer begin();
    /// Size of the next message in bytes; 0: no further message is read.
    std::size_t wants() const;
    /// Takes the next message and returns the answer to send (maybe empty), also on refusal. A
    /// listener asks `admit`, if there is one, about a dialler that has proven its key. Requires
    /// message.size() == wants() > 0 (DEDLOC_CHECK). Cost: at most 0.2 ms (link_bench).
    Buffer take(std::span<const std::byte> message, formats::UtcSeconds now,
                const formats::Revocations& revoked, const Admit& admit = {});

    /// Both ends have proven their keys; the last answer of take() must still be sent.
    bool is_proven() const { return state_ == State::kProven; }
    /// One end has refused; the last answer of take() must still be sent.
    bool is_refused() const { return state_ == State::kRefused; }
    /// The reason; kNone unless is_refused().
    LinkRefusal refusal() const { return refusal_; }
    /// True when the other end has refused us, false when we have refused it.
    bool is_told() const { return is_told_; }
    /// The reason as a sentence without a full stop. Requires is_refused() (DEDLOC_CHECK).
    std::string sentence() const;
    /// The result. Requires is_proven() (DEDLOC_CHECK).
    const Proven& proven() const;

  private:
    enum class State : std::uint8_t {
        kFresh,
        kAwaitsHello,
        kAwaitsProof,
        kAwaitsVerdict,
        kProven,
        kRefused
    };

    Buffer hello();
    Buffer take_hello(std::span<const std::byte> message);
    Buffer take_proof(std::span<const std::byte> message, formats::UtcSeconds now,
                      const formats::Revocations& revoked, const Admit& admit);
    Buffer take_verdict(std::span<const std::byte> message);
    LinkRefusal judge_proof(std::span<const std::byte> proof, const Digest& signed_transcript,
                            formats::UtcSeconds now, const formats::Revocations& revoked);
    bool derive_keys(std::span<const std::byte, 32> other_ephemeral);
    void derive_link_keys();
    Buffer prove();
    Buffer refuse(LinkRefusal refusal);
    void refused(LinkRefusal refusal, bool is_told);
    Buffer seal(std::span<const std::byte> plain);
    std::optional<Buffer> open(std::span<const std::byte> message);
    void add_to_transcript(std::span<const std::byte> message);
    bool is_dialler() const { return side_ == Side::kDialler; }
    bool is_own(const PeerKey& key) const { return key == options_.key.public_key(); }

    const SessionOptions& options_;
    const Side side_;
    const std::optional<PeerKey> expected_;
    const LinkVersions versions_;

    State state_ = State::kFresh;
    LinkRefusal refusal_ = LinkRefusal::kNone;
    bool is_told_ = false;
    SecretKey ephemeral_;
    std::array<std::byte, 32> own_ephemeral_{};
    Digest transcript_;  ///< hash chain over every message so far
    SecretKey root_;     ///< derived from the shared secret and both Hellos
    SecretKey send_;     ///< seals this end's handshake messages
    SecretKey receive_;
    std::uint64_t sent_ = 0;  ///< sealed messages; the next nonce
    std::uint64_t received_ = 0;
    Proven proven_;
};

}  // namespace dedloc::net
