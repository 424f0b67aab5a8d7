// Compact encoding of ledger entries. An entry omits everything that follows from the entries
// before it: generation, step and previous_record follow from the chain, members are coded as
// changes of the last record's list, keys by their place in a roster of all keys so far, samples
// and reduced elements as differences to the member's last ones, voters by their place in the
// generation's list. Unpredictable fields (two digests, losses, signatures) are stored in full, so
// decoding returns exactly the decision that was encoded, with the same digest.
//
//   1  commit       flags, previous_state (32), average (32), scalars that changed (4 each), the
//                   mixture if it changed or added sources did (1, and 32 if it changed and is not
//                   the run file's), changes of the member list, samples, losses (8 or 4 each),
//                   reduced elements if any of them changed, likewise added sources (1 each), then
//                   the certificate: its term if that is a new one, the set of its voters,
//                   signatures (64 each)
//   2  generation   the project's appointment of voters; later entries chain to it
//
// Numbers are LEB128, differences zigzag, the rest little-endian. A change of the member list gives
// the places of removed members in the last record's list, then the roster places of new members. A
// place at the roster's end is followed by the key, which joins the roster. The set of voters is a
// number whose bit i stands for the generation's voter i.
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

/// One entry of a ledger.
using Entry = std::variant<Decision, SignedGeneration>;

/// Encodes or decodes (one object for one direction) the complete sequence of entries from the
/// run's beginning. A copy continues independently from the same entry. Memory: about 150 bytes for
/// each key that was ever a member or voter.
class EntryCodec {
  public:
    /// Starts at the run's genesis.
    EntryCodec(const RunId& run, const PeerKey& backbone);

    /// Appends the entry's bytes. False, and nothing is written or changed, for an entry that
    /// cannot come next: a record that does not extend head(), votes that are not by its voters in
    /// ascending order, a generation that is not higher than the last one or has no voters.
    /// Signatures are not checked.       Cost  O(members × log keys)
    [[nodiscard]] bool encode(const Decision& decision, ByteWriter& out);
    [[nodiscard]] bool encode(const SignedGeneration& generation, ByteWriter& out);

    /// The next entry. Nothing if the bytes are no entry that can come next; the codec must not be
    /// used after that. Any bytes are safe. Signatures are not checked.
    std::optional<Entry> decode(ByteReader& bytes);

    /// The head after the last entry.
    const Head& head() const { return head_; }

  private:
    struct Known {
        PeerKey key;
        std::uint64_t samples = 0;  ///< its samples in the last commit with it as member
        std::uint64_t reduced = 0;  ///< elements that it reduced in that commit
        std::uint8_t added = 0;     ///< CommitLine::added there
    };
    using Place = std::uint32_t;  ///< index in the roster

    Place place_of(const PeerKey& key);
    void write_key(const PeerKey& key, ByteWriter& out);
    std::optional<PeerKey> read_key(ByteReader& bytes);
    std::uint8_t flags_of(const Decision& decision) const;
    Known last_of(const PeerKey& peer) const;
    bool has_other_added(const CommitRecord& record) const;
    void write_members(const CommitRecord& record, ByteWriter& out);
    void write_certificate(const Certificate& certificate, bool is_new_term, ByteWriter& out);
    std::optional<std::vector<PeerKey>> read_members(ByteReader& bytes);
    std::optional<Certificate> read_certificate(ByteReader& bytes, bool is_new_term);
    void write_mixture(const CommitRecord& record, ByteWriter& out) const;
    bool read_mixture(ByteReader& bytes, CommitRecord& record, bool& have_added) const;
    bool read_parts(ByteReader& bytes, bool are_new, CommitRecord& record) const;
    bool read_added(ByteReader& bytes, bool are_new, CommitRecord& record) const;
    std::optional<Entry> decode_commit(ByteReader& bytes);
    std::optional<Entry> decode_generation(ByteReader& bytes);
    void append(const Decision& decision);
    void append(const GenerationRecord& record);

    RunId run_;
    Head head_;
    std::vector<PeerKey> members_;   ///< members of the last record, ascending
    UpdateScalars scalars_;          ///< scalars of the last record
    std::optional<Digest> mixture_;  ///< mixture of the last record
    Term term_;                      ///< term of the last certificate
    std::vector<Known> roster_;
    std::map<PeerKey, Place> places_;
};

}  // namespace dedloc::ledger
