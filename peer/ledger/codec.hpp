// Ledger entries in few bytes, one after the other. What a reader of all entries before knows
// already is left out: generation, step and previous_record follow from the chain, most members are
// those of the last record, keys are named by their place in a roster of all keys so far, samples
// are differences to the member's last ones, and voters are those of the generation. What cannot be
// guessed (two digests, losses, signatures) stays whole, so that decoding gives back the very
// decision and its digest.
//
//   1  commit       flags, previous_state (32), average (32), scalars that changed (4 each),
//                   changes of the member list, samples, losses (8 or 4 each), then the
//                   certificate: its term if that is a new one, the set of its voters, signatures
//                   (64 each)
//   2  generation   the project's appointment of voters; what follows chains to it
//
// Numbers are LEB128, differences zigzag, the rest little-endian. A change of the member list is
// the places of those gone in the last record's list, then the roster places of those new; a place
// at the roster's end is followed by the key, which is thereby in it. The set of voters is a number
// whose bit i stands for the generation's voter i.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::ledger {

using Entry = std::variant<Decision, SignedGeneration>;

/// One direction: either encodes or decodes, an unbroken sequence of entries from the run's
/// beginning. A value: a copy goes on from the same place. Memory: about 150 bytes for each key
/// that was ever a member or voter.
class Codec {
  public:
    Codec(const RunId& run, const PeerKey& backbone);

    /// Appends the entry's bytes. False, and nothing is written or changed, for an entry that
    /// cannot come next: a record that does not extend head(), or votes that are not of its voters
    /// in ascending order; a generation that is not higher than the one before, or has no voters.
    /// Signatures are not checked.       Cost  O(members × log keys)
    [[nodiscard]] bool encode(const Decision& decision, ByteWriter& out);
    [[nodiscard]] bool encode(const SignedGeneration& generation, ByteWriter& out);

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
    std::uint8_t flags_of(const Decision& decision) const;
    void write_members(const CommitRecord& record, ByteWriter& out);
    void write_certificate(const Certificate& certificate, bool is_new_term, ByteWriter& out);
    std::optional<std::vector<PeerKey>> read_members(ByteReader& bytes);
    std::optional<Certificate> read_certificate(ByteReader& bytes, bool is_new_term);
    std::optional<Entry> decode_commit(ByteReader& bytes);
    std::optional<Entry> decode_generation(ByteReader& bytes);
    void append(const Decision& decision);
    void append(const GenerationRecord& record);

    RunId run_;
    Head head_;
    std::vector<PeerKey> members_;  ///< of the last record, ascending
    UpdateScalars scalars_;         ///< of the last record
    Term term_;                     ///< of the last certificate
    std::vector<Known> roster_;
    std::map<PeerKey, Place> places_;
};

}  // namespace dedloc::ledger
