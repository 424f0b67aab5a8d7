// A block of 128 bytes is read from each leaf and transposed, so that a vector holds the same word
// of every leaf. The twelve rounds are unrolled at compile time, which makes the words' schedule a
// choice of registers. All leaves are full, so the byte counter and the mark of the last block are
// equal in all lanes. AVX-512 takes eight leaves, or four if there are no more; AVX2 takes them in
// groups of four. Lanes without a leaf repeat the first one, and their digests are dropped.
#include "kernels/digest_lanes.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "kernels/check.hpp"

/// A DEDLOC_LOOP whose references lead into local arrays, at indices that are constants once it is
/// unrolled. With -fsanitize=undefined clang would check each of them and keep the arrays in
/// memory: this file would take it 49 s instead of 10 s, and eight leaves 4.3 ms instead of 2.5 ms
/// (clang 14, -O1, also with the address sanitizer).
#if defined(__clang__)
#define DEDLOC_LOCAL_LOOP                                              \
    [[clang::no_sanitize("alignment", "bounds", "null", "object-size", \
                         "pointer-overflow")]] DEDLOC_LOOP
#else
#define DEDLOC_LOCAL_LOOP DEDLOC_LOOP
#endif

namespace dedloc::kernels {
namespace {

constexpr std::size_t kBlockBytes = 128;

/// Order in which the words of a block are mixed in: RFC 7693, section 2.7.
constexpr std::uint8_t kSchedule[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

constexpr std::uint64_t kStart[8] = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};

typedef std::uint64_t Words4 __attribute__((vector_size(32)));
typedef std::uint64_t Words8 __attribute__((vector_size(64)));
typedef unsigned char Bytes32 __attribute__((vector_size(32)));

/// Up to 8 bytes as a little-endian word.
std::uint64_t word_of(std::string_view bytes) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        word |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    }
    return word;
}

/// Initial state of a leaf: 32 bytes of digest, no key, sequential mode, and the personalisation.
std::array<std::uint64_t, 8> first_state() {
    std::array<std::uint64_t, 8> state;
    std::ranges::copy(kStart, state.begin());
    state[0] ^= 0x0101'0000 ^ sizeof(DigestBytes);
    constexpr std::string_view kName = "dedloc.leaf";
    state[6] ^= word_of(kName.substr(0, 8));
    state[7] ^= word_of(kName.substr(8));
    return state;
}

/// Word w of a vector belongs to leaf w. AVX-512 has an instruction that rotates words; with AVX2
/// three of the four rotations are faster as byte shuffles.
template <class Words, bool kRotatesBytes>
struct Lanes {
    static constexpr std::size_t kLanes = sizeof(Words) / sizeof(std::uint64_t);
    using AllLanes = std::make_index_sequence<kLanes>;

    template <std::size_t kBits, std::size_t... kByte>
    DEDLOC_LOCAL_LOOP void rotate_bytes(Words& words, std::index_sequence<kByte...>) {
        const auto bytes = reinterpret_cast<Bytes32>(words);
        const Bytes32 rotated =
            __builtin_shufflevector(bytes, bytes, (kByte / 8 * 8 + (kByte + kBits / 8) % 8)...);
        words = reinterpret_cast<Words>(rotated);
    }

    template <std::size_t kBits>
    DEDLOC_LOCAL_LOOP void rotate_right(Words& words) {
        if constexpr (kRotatesBytes && kBits % 8 == 0) {
            rotate_bytes<kBits>(words, std::make_index_sequence<sizeof(Words)>{});
        } else {
            words = words >> kBits | words << (64 - kBits);
        }
    }

    DEDLOC_LOCAL_LOOP void mix(Words& a, Words& b, Words& c, Words& d, const Words& x,
                               const Words& y) {
        a += b + x;
        d ^= a;
        rotate_right<32>(d);
        c += d;
        b ^= c;
        rotate_right<24>(b);
        a += b + y;
        d ^= a;
        rotate_right<16>(d);
        c += d;
        b ^= c;
        rotate_right<63>(b);
    }

    template <std::size_t kRound>
    DEDLOC_LOCAL_LOOP void round(Words (&v)[16], const Words (&block)[16]) {
        constexpr auto& s = kSchedule[kRound % 10];
        mix(v[0], v[4], v[8], v[12], block[s[0]], block[s[1]]);
        mix(v[1], v[5], v[9], v[13], block[s[2]], block[s[3]]);
        mix(v[2], v[6], v[10], v[14], block[s[4]], block[s[5]]);
        mix(v[3], v[7], v[11], v[15], block[s[6]], block[s[7]]);
        mix(v[0], v[5], v[10], v[15], block[s[8]], block[s[9]]);
        mix(v[1], v[6], v[11], v[12], block[s[10]], block[s[11]]);
        mix(v[2], v[7], v[8], v[13], block[s[12]], block[s[13]]);
        mix(v[3], v[4], v[9], v[14], block[s[14]], block[s[15]]);
    }

    template <std::size_t... kRounds>
    DEDLOC_LOCAL_LOOP void all_rounds(Words (&v)[16], const Words (&block)[16],
                                      std::index_sequence<kRounds...>) {
        (round<kRounds>(v, block), ...);
    }

    template <std::size_t kStep, std::size_t... kLane>
    DEDLOC_LOCAL_LOOP void exchange(Words& upper, Words& lower, std::index_sequence<kLane...>) {
        const Words a = upper;
        const Words b = lower;
        upper = __builtin_shufflevector(a, b, (kLane & kStep ? kLanes + kLane - kStep : kLane)...);
        lower = __builtin_shufflevector(a, b, (kLane & kStep ? kLanes + kLane : kLane + kStep)...);
    }

    template <std::size_t kStep>
    DEDLOC_LOCAL_LOOP void exchange_all(Words* square) {
        for (std::size_t row = 0; row < kLanes; ++row) {
            if ((row & kStep) == 0) exchange<kStep>(square[row], square[row + kStep], AllLanes{});
        }
    }

    /// Transposes a square by exchanging blocks of 1, 2 and 4 words.
    DEDLOC_LOCAL_LOOP void transpose(Words* square) {
        exchange_all<1>(square);
        exchange_all<2>(square);
        if constexpr (kLanes == 8) exchange_all<4>(square);
    }

    DEDLOC_LOOP void load(Words (&block)[16], const std::byte* const* leaves, std::size_t at) {
        for (std::size_t word = 0; word < 16; word += kLanes) {
            for (std::size_t lane = 0; lane < kLanes; ++lane) {
                std::memcpy(&block[word + lane], leaves[lane] + at + 8 * word, sizeof(Words));
            }
            transpose(block + word);
        }
    }

    DEDLOC_LOOP void run(const std::byte* const* leaves, DigestBytes* digests) {
        const auto first = first_state();
        Words state[8];
        for (std::size_t i = 0; i < 8; ++i) state[i] = Words{} + first[i];
        for (std::size_t at = 0; at < kLeafBytes;) {
            Words block[16];
            load(block, leaves, at);
            at += kBlockBytes;
            const std::uint64_t last = at == kLeafBytes ? ~std::uint64_t{0} : 0;
            const std::uint64_t marks[8] = {0, 0, 0, 0, at, 0, last, 0};
            Words v[16] = {};
            for (std::size_t i = 0; i < 8; ++i) {
                v[i] = state[i];
                v[8 + i] = Words{} + (kStart[i] ^ marks[i]);
            }
            all_rounds(v, block, std::make_index_sequence<12>{});
            for (std::size_t i = 0; i < 8; ++i) state[i] ^= v[i] ^ v[8 + i];
        }
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            for (std::size_t i = 0; i < sizeof(DigestBytes) / 8; ++i) {
                const std::uint64_t word = state[i][lane];
                std::memcpy(digests[lane].data() + 8 * i, &word, sizeof word);
            }
        }
    }
};

/// Lanes without a leaf repeat the first leaf. `run` is Lanes::run for one instruction set, because
/// to compile it for all of them would take minutes.
template <class Lanes, class Run>
void run_lanes(std::span<const std::byte* const> leaves, std::span<DigestBytes> digests, Run run) {
    std::array<const std::byte*, Lanes::kLanes> all;
    all.fill(leaves[0]);
    std::ranges::copy(leaves, all.begin());
    std::array<DigestBytes, Lanes::kLanes> made;
    run(all.data(), made.data());
    std::copy_n(made.begin(), leaves.size(), digests.begin());
}

template <class Lanes>
void run_lanes_avx2(std::span<const std::byte* const> leaves, std::span<DigestBytes> digests) {
    run_lanes<Lanes>(leaves, digests, run_avx2<Lanes, const std::byte**, DigestBytes*>);
}
template <class Lanes>
void run_lanes_avx512(std::span<const std::byte* const> leaves, std::span<DigestBytes> digests) {
    run_lanes<Lanes>(leaves, digests, run_avx512<Lanes, const std::byte**, DigestBytes*>);
}

}  // namespace

void full_leaf_digests(std::span<const std::byte* const> leaves, std::span<DigestBytes> digests,
                       InstructionSet set) {
    DEDLOC_KERNEL_REQUIRE(
        !leaves.empty() && leaves.size() <= kLeavesTogether && leaves.size() == digests.size(),
        "1 to 8 leaves and as many digests are wanted", static_cast<double>(leaves.size()),
        static_cast<double>(digests.size()));
    DEDLOC_KERNEL_REQUIRE(set != InstructionSet::kBaseline, "lanes need AVX2 or AVX-512");
    if (set == InstructionSet::kAvx512) {
        constexpr auto run4 = run_lanes_avx512<Lanes<Words4, false>>;
        constexpr auto run8 = run_lanes_avx512<Lanes<Words8, false>>;
        return (leaves.size() > 4 ? run8 : run4)(leaves, digests);
    }
    for (std::size_t first = 0; first < leaves.size(); first += 4) {
        const std::size_t count = std::min<std::size_t>(leaves.size() - first, 4);
        run_lanes_avx2<Lanes<Words4, true>>(leaves.subspan(first, count),
                                            digests.subspan(first, count));
    }
}

}  // namespace dedloc::kernels
