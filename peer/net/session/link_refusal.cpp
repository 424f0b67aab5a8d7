// One table holds two sentences for each code, indexed by the code's number: one about the other
// end, one about this end. A new code needs a row at its position, before the row of kUnknown.
#include "peer/net/session/link_refusal.hpp"

#include <array>
#include <cstddef>

namespace dedloc::net {
namespace {

struct Sentences {
    const char* ours;  ///< about the other end, when this end refuses
    const char* told;  ///< about this end, when the other end refuses
};

constexpr std::array<Sentences, static_cast<std::size_t>(kLastLinkRefusal) + 1> kSentences{{
    {"nothing is wrong", "nothing is wrong"},
    {"what it sent is no link of a peer", "what we sent is no link of a peer"},
    {"it speaks other versions of links", "we speak other versions of links"},
    {"one end encrypts and the other does not", "one end encrypts and the other does not"},
    {"its message was modified in transit or replayed",
     "our message was modified in transit or replayed"},
    {"it has no ticket", "we have no ticket"},
    {"its ticket is not signed by this run's project",
     "our ticket is not signed by its run's project"},
    {"its ticket is for another run", "our ticket is for another run"},
    {"its ticket is not valid yet (is a clock wrong?)",
     "our ticket is not valid yet (is a clock wrong?)"},
    {"its ticket has expired", "our ticket has expired"},
    {"the project has revoked its ticket", "the project has revoked our ticket"},
    {"it did not prove that it holds its ticket's key",
     "we did not prove that we hold our ticket's key"},
    {"it is this peer itself", "it is this peer itself"},
    {"it is not the peer that was dialled", "we are not the peer that it dialled"},
    {"it hung up before it had proven its key", "we hung up before we had proven our key"},
    {"it did not prove its key in time", "we did not prove our key in time"},
    {"too many connections have not proven their keys yet",
     "too many connections to it have not proven their keys yet"},
    {"this peer has as many links as it may have", "it has as many links as it may have"},
    {"it named a link that this peer does not have", "it does not have the link that we named"},
    {"its link has as many connections as it may have",
     "our link has as many connections as it may have"},
    {"it opens links too often", "we open links too often"},
    {"it gave a reason that this version does not know",
     "it gave a reason that this version does not know"},
}};

const Sentences& sentences_of(LinkRefusal refusal) {
    return kSentences[static_cast<std::size_t>(refusal)];
}

}  // namespace

LinkRefusal refusal_of(std::uint8_t code) {
    const bool is_known = code != 0 && code < static_cast<std::uint8_t>(LinkRefusal::kUnknown);
    return is_known ? static_cast<LinkRefusal>(code) : LinkRefusal::kUnknown;
}

const char* describe(LinkRefusal refusal) {
    return sentences_of(refusal).ours;
}

const char* describe_own(LinkRefusal refusal) {
    return sentences_of(refusal).told;
}

std::string describe_told(LinkRefusal refusal) {
    return std::string{"it refused us: "} + describe_own(refusal);
}

}  // namespace dedloc::net
