// Ledger entries in few bytes, one after the other. What a reader of all entries before knows
// already is left out: generation, step and previous_record follow from the chain, most members are
// those that stayed last time, keys are named by their place in a roster of all keys so far, and
// samples are differences to the member's last ones. What cannot be guessed (two digests, losses)
// stays whole, so that decoding gives back the very record and its digest.
//
//   1  commit       flags, previous_state (32), average (32), scalars that changed (4 each),
//                   changes of the member list, who does not stay, samples, losses (8 or 4 each)
//   2  certificate  of the commit before: term, voters, signatures (64 each)
//   3  generation   begins the history anew; what follows chains to it
//
// Numbers are LEB128, differences zigzag, the rest little-endian. A change of the member list is
// the places of those gone in the view before, then the roster places of those new; a place at the
// roster's end is followed by the key, which is thereby in it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::ledger {

using Entry = std::variant<CommitRecord, Certificate, SignedGeneration>;

/// One direction: either encodes or decodes, an unbroken sequence of entries from the run's
/// beginning. A value: a copy goes on from the same place. Memory: about 150 bytes for each key
/// that was ever a member or voter.
class Codec {
  public:
    Codec(const RunId& run, const PeerKey& backbone);

    /// Appends the entry's bytes. A commit must extend head(), a certificate follow its commit
    /// (DEDLOC_CHECK).       Cost  O(members × log keys)
    void encode(const CommitRecord& record, ByteWriter& out);
    void encode(const Certificate& certificate, ByteWriter& out);
    void encode(const SignedGeneration& generation, ByteWriter& out);

    /// The next entry. Nothing when the bytes are no entry that can come next: hostile bytes do no
    /// more harm than that, and the codec is then of no further use. Signatures are not checked.
    std::optional<Entry> decode(ByteReader& bytes);

    /// Where the history stands after the last entry.
    const Head& head() const { return head_; }

  private:
    struct Known {
        PeerKey key;
        std::uint64_t samples = 0;  ///< in the last commit it was in
    };
    using Place = std::uint32_t;  ///< in the roster

    Place place_of(const PeerKey& key);
    void write_key(const PeerKey& key, ByteWriter& out);
    std::optional<PeerKey> read_key(ByteReader& bytes);
    std::optional<std::vector<PeerKey>> read_members(ByteReader& bytes);
    std::optional<Entry> decode_commit(ByteReader& bytes);
    std::optional<Entry> decode_certificate(ByteReader& bytes);
    std::optional<Entry> decode_generation(ByteReader& bytes);
    void took_in(const CommitRecord& record);
    void took_in(const GenerationRecord& record);

    RunId run_;
    Head head_;
    UpdateScalars scalars_;
    bool after_commit_ = false;  ///< the last entry was a commit
    std::vector<Known> roster_;
    std::map<PeerKey, Place> places_;
};

}  // namespace dedloc::ledger
