// Unpacks FlatBuffers tables into values by the lists of message_fields.hpp. Each step takes one
// field: FlatBuffers' verifier checks its place, then the field is read, so that nothing is read
// unchecked. A fault of the verifier ends it all. The verifier checks neither the alignment of list
// elements nor our limits: what breaks these stays empty, as do all later lists, and makes the
// value invalid, but the verifier still sees the rest.
#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "peer/wire/limits.hpp"
#include "peer/wire/message_codec.hpp"
#include "peer/wire/message_fields.hpp"

namespace dedloc::wire {
namespace {

using FbTable = flatbuffers::Table;
using flatbuffers::soffset_t;
using flatbuffers::uoffset_t;

/// Limits for the verifier, above what any message needs: message, body, record, certificate, and
/// one table for each reducer.
constexpr uoffset_t kMaxDepth = 8;
constexpr uoffset_t kMaxTables = 2 * kMaxReducers + 8;

/// The input at an aligned address, as FlatBuffers needs it: copied only if it is not aligned.
class Aligned {
  public:
    explicit Aligned(std::span<const std::byte> bytes) : bytes_(bytes) {
        if (reinterpret_cast<std::uintptr_t>(bytes.data()) % sizeof(std::uint64_t) == 0) return;
        copy_.resize((bytes.size() + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
        std::memcpy(copy_.data(), bytes.data(), bytes.size());
        bytes_ = std::as_bytes(std::span{copy_}).first(bytes.size());
    }
    std::span<const std::byte> bytes() const { return bytes_; }
    /// Whether the input had to be copied.
    bool is_copy() const { return !copy_.empty(); }

  private:
    std::span<const std::byte> bytes_;
    std::vector<std::uint64_t> copy_;
};

/// A table and the next of its fields.
struct Cursor {
    const FbTable& table;
    std::uint16_t index = 0;

    flatbuffers::voffset_t field() const { return flatbuffers::FieldIndexToOffset(index); }
    flatbuffers::voffset_t next() { return flatbuffers::FieldIndexToOffset(index++); }
};

/// A list that the verifier has passed.
struct ListView {
    const std::uint8_t* data = nullptr;  // its elements; null: the list is absent
    std::size_t size = 0;                // number of elements

    bool is_present() const { return data != nullptr; }
};
enum class Need : std::uint8_t { kRequired, kOptional };

/// Reads a table and those that it refers to. The bytes are aligned and outlive the reader.
class TableReader {
  public:
    /// Chunks share the owner of the bytes instead of copying their elements. Null: they copy.
    explicit TableReader(std::span<const std::byte> bytes, SharedBytes owner = nullptr)
        : bytes_(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()),
          verifier_(bytes_.data(), bytes_.size(), kMaxDepth, kMaxTables),
          owner_(std::move(owner)) {}

    /// Reads the root table. False if the verifier refuses the bytes.
    template <Table T>
    bool read_root(T& value, const char* identifier) {
        if (bytes_.size() < FLATBUFFERS_MIN_BUFFER_SIZE) return false;
        const std::uint8_t* data = bytes_.data();
        if (identifier != nullptr && !flatbuffers::BufferHasIdentifier(data, identifier)) {
            return false;
        }
        return verifier_.VerifyOffset(0) != 0 && read(*flatbuffers::GetRoot<FbTable>(data), value);
    }
    /// Whether a list or an enumerator has no value in C++, or fail() was called.
    bool has_failed() const { return has_failed_; }
    /// Lists that are read after this are verified and stay empty.
    void fail() { has_failed_ = true; }

  private:
    template <Table T>
    bool read(const FbTable& table, T& value) {
        Cursor at{table};
        const auto take_all = [&](auto&&... field) { return (take(at, field) && ...); };
        return table.VerifyTableStart(verifier_) && std::apply(take_all, fields(value)) &&
               verifier_.EndTable();
    }
    void require(bool is_good) { has_failed_ = has_failed_ || !is_good; }

    // One take() for each kind of field. False if the verifier refuses it.

    template <Number T>
    bool take(Cursor& at, T& value) {
        using Raw = decltype(number_of(value));
        if (!at.table.VerifyField<Raw>(verifier_, at.field(), sizeof(Raw))) return false;
        value = value_of<T>(at.table.GetField<Raw>(at.next(), Raw{}));
        return true;
    }
    bool take(Cursor& at, std::optional<std::uint16_t>& value) {
        const bool is_present = at.table.CheckField(at.field());
        std::uint16_t number = 0;
        if (!take(at, number)) return false;
        if (is_present) value = number;
        return true;
    }
    template <Struct T>
    bool take(Cursor& at, T& value) {
        const auto field = at.next();
        if (!at.table.VerifyFieldRequired<T>(verifier_, field, alignof(T))) return false;
        std::memcpy(static_cast<void*>(&value), at.table.GetAddressOf(field), sizeof value);
        return true;
    }
    template <Struct T>
    bool take(Cursor& at, std::optional<T>& value) {
        if (at.table.CheckField(at.field())) return take(at, value.emplace());
        at.next();
        return true;
    }
    template <Table T>
    bool take(Cursor& at, T& value) {
        const FbTable* table = nullptr;
        return find(at, Need::kRequired, table) && read(*table, value);
    }
    template <Table T>
    bool take(Cursor& at, std::optional<T>& value) {
        const FbTable* table = nullptr;
        if (!find(at, Need::kOptional, table)) return false;
        return table == nullptr || read(*table, value.emplace());
    }
    template <class Value, class Limit>
    bool take(Cursor& at, Limited<Value, Limit> field) {
        if constexpr (Number<Value>) {
            if (!take(at, field.value)) return false;
            if constexpr (std::is_enum_v<Value>) require(field.value <= field.limit);
            return true;
        } else {
            return take_list(at, field.value, field.limit);
        }
    }
    template <class Rows, class Member>
    bool take(Cursor& at, Column<Rows, Member> column) {
        using Value = std::remove_cvref_t<decltype(column.rows[0].*column.number)>;
        using Raw = decltype(number_of(Value{}));
        ListView list;
        if (!find_list(at, Need::kRequired, sizeof(Raw), list)) return false;
        require(list.size == column.rows.size());
        if (has_failed_) return true;
        for (std::size_t i = 0; i < list.size; ++i) {
            const auto raw = flatbuffers::ReadScalar<Raw>(list.data + i * sizeof(Raw));
            if constexpr (std::is_same_v<Value, bool>) require(raw <= 1);
            column.rows[i].*column.number = value_of<Value>(raw);
        }
        return true;
    }
    /// Zeros have one encoding: the column is absent.
    template <class Rows, class Member>
    bool take(Cursor& at, RareColumn<Rows, Member> rare) {
        if (!at.table.CheckField(at.field())) {
            at.next();
            return true;
        }
        if (!take(at, rare.column)) return false;
        const auto is_zero = [&](const auto& row) { return row.*rare.column.number == 0; };
        require(has_failed_ || !std::ranges::all_of(rare.column.rows, is_zero));
        return true;
    }
    bool take(Cursor& at, Elements& elements);
    bool take(Cursor& at, Body& body);

    bool take_list(Cursor& at, std::string& text, std::size_t limit) {
        const flatbuffers::String* packed = nullptr;
        if (!find(at, Need::kRequired, packed) || !verifier_.VerifyString(packed)) return false;
        require(packed->size() <= limit);
        if (!has_failed_) text = packed->str();
        return true;
    }
    template <Number T>
    bool take_list(Cursor& at, std::vector<T>& numbers, std::size_t limit) {
        ListView list;
        if (!find_list(at, Need::kRequired, sizeof(T), list)) return false;
        require(list.size <= limit);
        if (!has_failed_) numbers = copied<T>(list);
        return true;
    }
    template <Struct T>
    bool take_list(Cursor& at, std::vector<T>& structs, std::size_t limit) {
        constexpr std::size_t kBytes = kStructBytes<T>;
        ListView list;
        if (!find_list(at, Need::kRequired, kBytes, list)) return false;
        // The builder does not align empty lists.
        const auto address = reinterpret_cast<std::uintptr_t>(list.data);
        require(list.size <= limit && (list.size == 0 || address % alignof(T) == 0));
        if (has_failed_) return true;
        structs.resize(list.size);
        for (std::size_t i = 0; i < list.size; ++i) {
            std::memcpy(static_cast<void*>(&structs[i]), list.data + i * kBytes, kBytes);
        }
        return true;
    }
    template <Table T>
    bool take_list(Cursor& at, std::vector<T>& tables, std::size_t limit) {
        ListView list;
        if (!find_list(at, Need::kRequired, sizeof(uoffset_t), list)) return false;
        require(list.size <= limit);
        for (std::size_t i = 0; i < list.size; ++i) {
            const std::uint8_t* place = list.data + i * sizeof(uoffset_t);
            const auto* table =
                reinterpret_cast<const FbTable*>(place + flatbuffers::ReadScalar<uoffset_t>(place));
            T value;
            if (!read(*table, value)) return false;
            if (!has_failed_) tables.push_back(std::move(value));
        }
        return true;
    }

    /// Finds the list, string or table of a field. `place` stays null if an optional one is absent.
    template <class T>
    bool find(Cursor& at, Need need, const T*& place) {
        const auto field = at.next();
        const bool is_good = need == Need::kRequired
                                 ? at.table.VerifyOffsetRequired(verifier_, field)
                                 : at.table.VerifyOffset(verifier_, field);
        if (is_good) place = at.table.GetPointer<const T*>(field);
        return is_good;
    }
    /// Its elements have `element_bytes` each.
    bool find_list(Cursor& at, Need need, std::size_t element_bytes, ListView& list) {
        const std::uint8_t* place = nullptr;
        if (!find(at, need, place)) return false;
        if (place == nullptr) return true;
        if (!verifier_.VerifyVectorOrString(place, element_bytes)) return false;
        const auto size = flatbuffers::ReadScalar<uoffset_t>(place);
        list = {.data = place + sizeof size, .size = size};
        return true;
    }
    template <class T>
    static std::vector<T> copied(const ListView& list) {
        const auto* first = reinterpret_cast<const T*>(list.data);
        return {first, first + list.size};
    }
    /// Numbers shared with the payload, or copied if the payload is more than twice as large.
    template <class T>
    SharedSlice<T> slice(const ListView& list, std::size_t limit) {
        const std::size_t bytes = list.size * sizeof(T);
        require(list.size <= limit);
        if (has_failed_) return {};
        if (owner_ == nullptr || owner_->size() > 2 * bytes) return copied<T>(list);
        return {owner_, std::span{reinterpret_cast<const T*>(list.data), list.size}};
    }

    std::span<const std::uint8_t> bytes_;
    flatbuffers::Verifier verifier_;
    SharedBytes owner_;
    bool has_failed_ = false;
};

bool TableReader::take(Cursor& at, Elements& elements) {
    ListView floats;
    ListView halves;
    std::uint8_t exponent = 0;
    ListView bfloats;
    ListView codes;
    ListView exponents;
    const auto find_one = [&](std::size_t element_bytes, ListView& list) {
        return find_list(at, Need::kOptional, element_bytes, list);
    };
    const bool is_good = find_one(sizeof(float), floats) &&
                         find_one(sizeof(std::uint16_t), halves) && take(at, exponent) &&
                         find_one(sizeof(std::uint16_t), bfloats) && find_one(1, codes) &&
                         find_one(1, exponents);
    if (!is_good) return false;
    const auto lists = {floats, halves, bfloats, codes};
    require(std::ranges::count_if(lists, &ListView::is_present) == 1);
    require(halves.is_present() || exponent == 0);
    require(codes.is_present() == exponents.is_present());
    if (has_failed_) return true;
    if (floats.is_present()) {
        elements = slice<float>(floats, kChunkElements);
    } else if (halves.is_present()) {
        elements =
            Halves{.bits = slice<std::uint16_t>(halves, kChunkElements), .exponent = exponent};
    } else if (bfloats.is_present()) {
        elements = Bfloats{.bits = slice<std::uint16_t>(bfloats, kChunkElements)};
    } else {
        elements = Int8Blocks{
            .codes = slice<std::int8_t>(codes, kChunkElements),
            .exponents = slice<std::uint8_t>(exponents, kChunkElements / kInt8BlockElements)};
    }
    return true;
}

/// The kinds of the union are the variant's alternatives in the same order, after NONE.
bool TableReader::take(Cursor& at, Body& body) {
    std::uint8_t kind = 0;
    const FbTable* table = nullptr;
    if (!take(at, kind) || !find(at, Need::kRequired, table)) return false;
    const auto read_if = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
        return kind == I + 1 && read(*table, body.emplace<I>());
    };
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return (read_if(std::integral_constant<std::size_t, I>{}) || ...);
    }
    (std::make_index_sequence<std::variant_size_v<BodyKinds>>{});
}

/// The record in these bytes; nothing if it is refused.
template <Table T>
std::optional<T> unpacked(std::span<const std::byte> input, const char* identifier) {
    const Aligned aligned(input);
    TableReader reader(aligned.bytes());
    std::optional<T> value{std::in_place};
    if (!reader.read_root(*value, identifier) || reader.has_failed()) return std::nullopt;
    return value;
}

}  // namespace

Result<Message, DecodeError> unpack(std::span<const std::byte> payload, const SharedBytes& owner) {
    const Aligned aligned(payload);
    TableReader reader(aligned.bytes(), aligned.is_copy() ? nullptr : owner);
    Message message;
    if (!reader.read_root(message, nullptr)) return Failure{DecodeError::kMalformed};
    if (reader.has_failed()) return Failure{DecodeError::kOutOfBounds};
    return message;
}

std::optional<std::size_t> packed_body_index(std::span<const std::byte> payload) {
    const Aligned aligned(payload);
    TableReader reader(aligned.bytes());
    reader.fail();
    Message message;
    if (!reader.read_root(message, nullptr)) return std::nullopt;
    return message.body.index();
}

std::optional<VoterState> unpack_voter_state(std::span<const std::byte> input) {
    return unpacked<VoterState>(input, kVoterStateIdentifier);
}

std::optional<SignedGeneration> unpack_generation(std::span<const std::byte> input) {
    const auto message = unpacked<Generation>(input, kGenerationIdentifier);
    return message ? std::optional{message->generation} : std::nullopt;
}

std::optional<Decision> unpack_decision(std::span<const std::byte> input) {
    return unpacked<Decision>(input, kDecisionIdentifier);
}

}  // namespace dedloc::wire
