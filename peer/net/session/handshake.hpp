// How two strangers become a link: both prove the key and the ticket that they hold, and agree on
// keys that nobody else has. A pure state machine: bytes in, bytes out; the time is an argument,
// only libsodium's randomness comes from elsewhere.
//
//     dialler                                            listener
//        Hello {versions, encrypts, ephemeral key}  ───►
//                                            ◄───  Hello {the same}
//        [Proof {ticket, signature}]  ───►                 [ ] sealed with keys that
//                                            ◄───  [Proof]     follow from both
//        [Verdict]  ───►                                       ephemeral keys and Hellos
//
// The dialler proves itself first: who connects without a ticket learns nothing but that a peer
// listens. A signature covers the signer's side, its ticket and everything said before, so it is of
// no use in another handshake; a Hello that is changed on its way gives the two ends different
// keys, so nothing that follows can be read. Whoever refuses sends [Refusal {code}] in place of its
// next message; before there are keys it just hangs up, and both Hellos say why. The pattern is
// SIGMA's (Krawczyk, "SIGMA: the 'SIGn-and-MAc' approach", CRYPTO 2003), the dialler revealed
// first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/formats/ticket.hpp"
#include "peer/net/session/link_refusal.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::net {

/// What a peer proves with, and what it demands of others.
struct SessionOptions {
    PeerKey project;  ///< signs all tickets
    RunId run;
    KeyPair key;
    std::optional<formats::SignedTicket> ticket;  ///< of `key`; without one everybody refuses us
    bool encrypts = true;                         ///< false: a run's choice for a trusted network
    formats::Revocations revocations{};           ///< known at the start
};

/// Of what is said in a handshake and on the link after it: a new kind of frame is a new version.
/// Frames of version 1 had no receipts and no tickets, and their pings did not say when the next
/// one comes. Tickets of version 2 did not say what the seat's device can train.
struct LinkVersions {
    std::uint16_t oldest = 3;
    std::uint16_t newest = 3;
};

/// Whether a ticket is good in this run, now; kNone if so. It may be anybody's: the key is not
/// proven by it.
LinkRefusal judge(const std::optional<formats::SignedTicket>& ticket, const SessionOptions& session,
                  formats::UtcSeconds now, const formats::Revocations& revoked);

enum class Side : std::uint8_t { kDialler = 0, kListener = 1 };

/// A key that is wiped when it is not needed any more.
struct SecretKey {
    SecretKey() = default;
    SecretKey(const SecretKey&) = default;
    SecretKey& operator=(const SecretKey&) = default;
    ~SecretKey();
    std::array<std::byte, 32> bytes{};
};

/// What a handshake has come to.
struct Proven {
    formats::Ticket peer;         ///< of the other end, which holds its key
    formats::UtcSeconds expires;  ///< the ticket that this end has shown
    std::uint16_t version = 0;    ///< the highest that both speak
    bool encrypts = true;
    SecretKey send;  ///< for what this end sends from now on
    SecretKey receive;
};

class Handshake {
  public:
    /// magic, oldest, newest, encrypts, ephemeral key
    static constexpr std::size_t kHelloBytes = 4 + 2 + 2 + 4 + 32;
    /// kind and code, ticket, signature, authenticator
    static constexpr std::size_t kSealedBytes = 2 + wire::kTicketBytes + wire::kSignatureBytes + 16;

    /// With `expected`, nobody else is linked with. `options` must outlive it.
    Handshake(const SessionOptions& options, Side side, std::optional<PeerKey> expected = {},
              LinkVersions versions = {});
    ~Handshake();
    Handshake(const Handshake&) = delete;
    Handshake& operator=(const Handshake&) = delete;

    /// What the dialler sends first; nothing for the listener. Once.
    Buffer begin();
    /// How many bytes the next message has; 0: nothing more is read.
    std::size_t wants() const;
    /// Takes the next message and gives the answer to be sent, also when it refuses. Requires
    /// message.size() == wants() > 0 (DEDLOC_CHECK). Cost: at most 0.2 ms (link_bench).
    Buffer take(std::span<const std::byte> message, formats::UtcSeconds now,
                const formats::Revocations& revoked);

    /// Both ends have proven themselves; what take() gave last is still to be sent.
    bool is_proven() const { return state_ == State::kProven; }
    bool is_refused() const { return state_ == State::kRefused; }
    /// Why; kNone unless is_refused().
    LinkRefusal refusal() const { return refusal_; }
    /// True when the other end has refused us, false when we have refused it.
    bool is_told() const { return is_told_; }
    /// One sentence without a full stop. Requires is_refused() (DEDLOC_CHECK).
    std::string sentence() const;
    /// Requires is_proven() (DEDLOC_CHECK).
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
                      const formats::Revocations& revoked);
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
    Digest transcript_;  ///< over every message so far
    SecretKey root_;     ///< what both ephemeral keys and both Hellos come to
    SecretKey send_;     ///< for the handshake's own messages
    SecretKey receive_;
    std::uint64_t sent_ = 0;  ///< sealed messages
    std::uint64_t received_ = 0;
    Proven proven_;
};

}  // namespace dedloc::net
