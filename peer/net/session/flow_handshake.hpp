// The handshake that adds a flow, one more TCP connection, to a link that is already open. Both
// ends prove that they have the secret that the link's own handshake has given them. It is a pure
// state machine like Handshake.
//
//     dialler                                      listener
//        Attach {token, nonce}  ───►
//                              ◄───  Answer {code, nonce, proof}
//        Confirm {code, proof}  ───►                              the listener has attached it
//                              ◄───  Welcome {code, proof}        the dialler has attached it
//
// The token names the link and is no secret. A proof is a hash of the sender's role and of every
// message before it, keyed with the link's secret, so it fits neither another link nor another
// handshake: a recorded Attach gets an Answer with a new nonce, which only the link's ends can
// confirm. The flow's keys follow from the secret and both nonces, so no two flows share a key. A
// code that is not 0 is a LinkRefusal and ends the handshake; it may be forged, like any refusal
// before a proof.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "peer/base/bytes.hpp"
#include "peer/net/session/handshake.hpp"
#include "peer/net/session/link_refusal.hpp"
#include "peer/net/session/secret_key.hpp"

namespace dedloc::net {

/// What a listener says about the link that a stranger has named.
struct NamedLink {
    LinkRefusal refusal = LinkRefusal::kNoSuchLink;  ///< kNone: one more flow may be attached
    FlowSecret secret{};                             ///< that of the link, unless there is none
};

/// One end of one handshake. Give every message to take() and send what it returns.
class FlowHandshake {
  public:
    /// Bytes of an Attach, which a listener must tell from a Hello: they have the same size.
    static constexpr std::size_t kAttachBytes = 4 + 16 + 24;
    /// Bytes of every other message: code, nonce (0 unless it is an Answer), proof.
    static constexpr std::size_t kFlowBytes = 1 + 24 + 32;
    /// Looks up the link with this token.
    using FindLink = std::function<NamedLink(const FlowToken&)>;

    /// Whether a connection's first message is an Attach.
    static bool is_attach(std::span<const std::byte> message);

    /// The dialler's end of one more flow of the link with this secret.
    explicit FlowHandshake(const FlowSecret& link);
    /// The listener's end. `find` is called for the Attach and again for the Confirm, since the
    /// link may have ended or have got other flows meanwhile.
    explicit FlowHandshake(FindLink find);
    FlowHandshake(const FlowHandshake&) = delete;
    FlowHandshake& operator=(const FlowHandshake&) = delete;

    /// The dialler's Attach; empty for the listener. Call it once.
    Buffer begin();
    /// Size of the next message in bytes; 0: no further message is read.
    std::size_t wants() const;
    /// Takes the next message and returns the answer to send (maybe empty), also on refusal.
    /// Requires message.size() == wants() > 0 (DEDLOC_CHECK).
    Buffer take(std::span<const std::byte> message);

    /// Both ends have proven the secret; the last answer of take() must still be sent.
    bool is_proven() const { return state_ == State::kProven; }
    /// One end has refused; the last answer of take() must still be sent.
    bool is_refused() const { return state_ == State::kRefused; }
    /// The reason; kNone unless is_refused().
    LinkRefusal refusal() const { return refusal_; }
    /// True when the other end has refused us, false when we have refused it.
    bool is_told() const { return is_told_; }
    /// The reason as a sentence without a full stop. Requires is_refused() (DEDLOC_CHECK).
    std::string sentence() const;
    /// The link that the flow is for, as soon as it is known.
    const FlowToken& token() const { return link_.token; }
    /// Keys of the flow's frames; as long as this lives. Requires is_proven() (DEDLOC_CHECK).
    LinkKeys keys(Cipher cipher) const;

  private:
    enum class State : std::uint8_t {
        kFresh,
        kAwaitsAttach,
        kAwaitsAnswer,
        kAwaitsConfirm,
        kAwaitsWelcome,
        kProven,
        kRefused
    };
    /// The sender of a message, part of its proof.
    enum class Role : std::uint8_t { kAnswer = 1, kConfirm = 2, kWelcome = 3 };

    Buffer take_attach(std::span<const std::byte> message);
    Buffer take_answer(std::span<const std::byte> message);
    Buffer take_confirm(std::span<const std::byte> message);
    Buffer take_welcome(std::span<const std::byte> message);
    Buffer say(Role role, std::span<const std::byte> nonce);
    Buffer refuse(LinkRefusal refusal);
    bool is_good(Role role, std::span<const std::byte> message);
    void refused(LinkRefusal refusal, bool is_told);
    SecretKey proof_of(Role role, std::span<const std::byte> nonce) const;
    void derive_keys();

    const FindLink find_;
    FlowSecret link_;
    State state_;
    LinkRefusal refusal_ = LinkRefusal::kNone;
    bool is_told_ = false;
    const Side side_;
    Buffer transcript_;  ///< all messages so far
    SecretKey send_;
    SecretKey receive_;
};

}  // namespace dedloc::net
