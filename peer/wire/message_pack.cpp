// Packs values into FlatBuffers tables by the lists of message_fields.hpp. FlatBuffers builds from
// the back and does not allow nested tables, so a TableWriter creates lists, strings and inner
// tables as it meets them, and writes the table itself at the end, in the order that flatc's own
// code has. Bulk (elements of a chunk, data of a leaf or relayed frame) gets an uninitialized
// vector at first; packed() then splits the built bytes around it, so that packing never copies a
// chunk's elements and copies other bulk once.
#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "peer/wire/message_codec.hpp"
#include "peer/wire/message_fields.hpp"

namespace dedloc::wire {
namespace {

using flatbuffers::FlatBufferBuilder;
using Offset = flatbuffers::Offset<void>;

/// The bulk of a body. The builder reserves space for it and never sees its bytes.
struct Bulk {
    std::span<const std::byte> bytes;  // all bulk bytes
    std::size_t from_end = 0;          // where they begin, counted from the end of the built bytes
    SharedSlice<std::byte> shared;     // the same bytes if they can be shared; empty: copy them
};

/// A field of a table that is not written yet: a number, a struct or a child, or absent.
struct Cell {
    std::uint64_t number = 0;            // its bytes from the lowest on
    const std::uint8_t* data = nullptr;  // the bytes of a struct
    Offset child{};                      // a list, string or table
    std::uint8_t width = 0;              // wide fields come first; 4 for structs and children
    std::uint8_t size = 0;               // bytes of the struct
    std::uint8_t alignment = 0;          // alignment of the struct
    bool is_number = false;              // a number that is present
};

/// Builds one table in `out`, after everything that the table refers to.
class TableWriter {
  public:
    TableWriter(FlatBufferBuilder& out, Bulk& bulk) : out_(out), bulk_(bulk) {}

    template <Table T>
    Offset write(const T& value) && {
        using Fields = decltype(fields(value));
        static_assert(std::tuple_size_v<Fields> + kMoreCells <=
                      std::tuple_size_v<decltype(cells_)>);
        std::apply([&](const auto&... field) { (add(field), ...); }, fields(value));
        return finish();
    }

  private:
    static constexpr std::size_t kMoreCells = 5;  // a chunk's elements are six fields

    // One add() for each kind of field. A number that is 0 is absent.

    template <Number T>
    void add(const T& value) {
        const auto number = number_of(value);
        add_number(number, number != 0);
    }
    void add(const std::optional<std::uint16_t>& value) {
        add_number(value.value_or(0), value.has_value());
    }
    template <Struct T>
    void add(const T& value) {
        next() = {.data = reinterpret_cast<const std::uint8_t*>(&value),
                  .width = sizeof(flatbuffers::uoffset_t),
                  .size = sizeof value,
                  .alignment = alignof(T)};
    }
    template <Table T>
    void add(const T& value) {
        add_child(TableWriter{out_, bulk_}.write(value));
    }
    template <class T>
    requires(Struct<T> || Table<T>) void add(const std::optional<T>& value) {
        value ? add(*value) : add_child({});
    }
    template <class Value, class Limit>
    void add(const Limited<Value, Limit>& field) {
        if constexpr (Number<std::remove_const_t<Value>>) {
            add(field.value);
        } else {
            add_child(list(field.value));
        }
    }
    template <class Rows, class Member>
    void add(const Column<Rows, Member>& column) {
        std::vector<decltype(number_of(column.rows[0].*column.number))> numbers;
        numbers.reserve(column.rows.size());
        for (const auto& row : column.rows) numbers.push_back(number_of(row.*column.number));
        add_child(list(numbers));
    }
    template <class Rows, class Member>
    void add(const RareColumn<Rows, Member>& rare) {
        const auto is_zero = [&](const auto& row) { return row.*rare.column.number == 0; };
        std::ranges::all_of(rare.column.rows, is_zero) ? add_child({}) : add(rare.column);
    }
    void add(const Elements& elements);
    void add(const Body& body);

    Offset list(const std::string& text) { return out_.CreateString(text).Union(); }
    Offset list(const Buffer& bulk) { return reserved(bulk, 1); }
    template <Number T>
    Offset list(const std::vector<T>& numbers) {
        return out_.CreateVector(numbers).Union();
    }
    template <Struct T>
    Offset list(const std::vector<T>& structs) {
        // FlatBuffers counts structs in units of their alignment until the length is written.
        std::uint8_t* space = nullptr;
        const Offset built = out_.CreateUninitializedVector(
            structs.size() * kStructBytes<T> / alignof(T), alignof(T), &space);
        flatbuffers::WriteScalar(out_.GetCurrentBufferPointer(),
                                 static_cast<flatbuffers::uoffset_t>(structs.size()));
        for (const T& value : structs) {
            std::memcpy(space, &value, kStructBytes<T>);
            space += kStructBytes<T>;
        }
        return built;
    }
    template <Table T>
    Offset list(const std::vector<T>& tables) {
        std::vector<Offset> offsets;
        offsets.reserve(tables.size());
        for (const T& table : tables) offsets.push_back(TableWriter{out_, bulk_}.write(table));
        return out_.CreateVector(offsets).Union();
    }
    /// Reserves space for bulk as a list without writing its elements.
    Offset reserved(std::span<const std::byte> bytes, std::size_t element_bytes) {
        std::uint8_t* unused = nullptr;
        const Offset built =
            out_.CreateUninitializedVector(bytes.size() / element_bytes, element_bytes, &unused);
        bulk_ = {
            .bytes = bytes, .from_end = built.o - sizeof(flatbuffers::uoffset_t), .shared = {}};
        return built;
    }
    /// The same for numbers that the frame shares instead of copying them.
    template <class Element>
    Offset shared(const SharedSlice<Element>& numbers) {
        const Offset built = reserved(std::as_bytes(numbers.values()), sizeof(Element));
        bulk_.shared = numbers.bytes();
        return built;
    }

    template <class Value>
    void add_number(Value value, bool is_present) {
        Cell& cell = next();
        cell.width = sizeof value;
        cell.is_number = is_present;
        std::memcpy(&cell.number, &value, sizeof value);
    }
    void add_child(Offset child) {
        next() = {.child = child, .width = sizeof(flatbuffers::uoffset_t)};
    }
    Cell& next() { return cells_[count_++]; }

    /// FlatBuffers writes fields by width, and those of one width from the last to the first.
    Offset finish() {
        const auto start = out_.StartTable();
        for (const std::size_t width : {8U, 4U, 2U, 1U}) {
            for (std::size_t i = count_; i-- > 0;) {
                if (cells_[i].width == width) put(cells_[i], static_cast<std::uint16_t>(i));
            }
        }
        return out_.EndTable(start);
    }
    void put(const Cell& cell, std::uint16_t index) {
        const auto field = flatbuffers::FieldIndexToOffset(index);
        if (cell.is_number) return put_number(cell, field);
        out_.AddOffset(field, cell.child);
        if (cell.data == nullptr) return;
        out_.Align(cell.alignment);
        out_.PushBytes(cell.data, cell.size);
        out_.AddStructOffset(field, out_.GetSize());
    }
    void put_number(const Cell& cell, flatbuffers::voffset_t field) {
        switch (cell.width) {
            case 8:
                return out_.AddElement(field, cell.number);
            case 4:
                return out_.AddElement(field, static_cast<std::uint32_t>(cell.number));
            case 2:
                return out_.AddElement(field, static_cast<std::uint16_t>(cell.number));
            default:
                return out_.AddElement(field, static_cast<std::uint8_t>(cell.number));
        }
    }

    FlatBufferBuilder& out_;
    Bulk& bulk_;
    std::array<Cell, 24> cells_;
    std::size_t count_ = 0;
};

void TableWriter::add(const Elements& elements) {
    std::array<Offset, std::variant_size_v<Elements>> lists;
    Offset& present = lists[elements.index()];
    std::uint8_t exponent = 0;
    Offset exponents;
    if (const auto* floats = std::get_if<SharedSlice<float>>(&elements)) {
        present = shared(*floats);
    } else if (const auto* halves = std::get_if<Halves>(&elements)) {
        present = shared(halves->bits);
        exponent = halves->exponent;
    } else if (const auto* bfloats = std::get_if<Bfloats>(&elements)) {
        present = shared(bfloats->bits);
    } else {
        const auto& blocks = std::get<Int8Blocks>(elements);
        const auto scales = blocks.exponents.values();
        exponents = out_.CreateVector(scales.data(), scales.size()).Union();
        present = shared(blocks.codes);
    }
    add_child(lists[0]);
    add_child(lists[1]);
    add(exponent);
    add_child(lists[2]);
    add_child(lists[3]);
    add_child(exponents);
}

/// The kinds of the union are the variant's alternatives in the same order, after NONE.
void TableWriter::add(const Body& body) {
    add(static_cast<std::uint8_t>(body.index() + 1));
    const auto write_kind = [this](const auto& m) { return TableWriter{out_, bulk_}.write(m); };
    add_child(std::visit(write_kind, static_cast<const BodyKinds&>(body)));
}

Packed packed(const FlatBufferBuilder& out, const Bulk& bulk, std::size_t head_bytes) {
    const auto built = std::as_bytes(std::span{out.GetBufferPointer(), out.GetSize()});
    const auto before = built.first(built.size() - bulk.from_end);
    const auto after = built.last(bulk.from_end - bulk.bytes.size());
    const auto copied = bulk.shared.empty() ? bulk.bytes : bulk.bytes.first(0);
    Buffer bytes;
    bytes.reserve(head_bytes + before.size() + copied.size() + after.size());
    bytes.resize(head_bytes);
    for (const auto& part : {before, copied, after}) {
        bytes.insert(bytes.end(), part.begin(), part.end());
    }
    return {.around = std::move(bytes), .bulk_at = head_bytes + before.size(), .bulk = bulk.shared};
}

/// Initial size of the builder: enough for the bulk, so that the builder need not grow and copy.
std::size_t size_hint(const Body& body) {
    constexpr std::size_t kRest = 1'024;
    if (const auto* chunk = std::get_if<Chunk>(&body)) {
        return count_of(chunk->elements) * sizeof(float) + kRest;
    }
    if (const auto* leaf = std::get_if<Leaf>(&body)) return leaf->data.size() + kRest;
    if (const auto* relay = std::get_if<Relay>(&body)) return relay->frame.size() + kRest;
    return kRest;
}

/// The bytes of a value without bulk.
template <Table T>
Buffer packed_root(const T& value, const char* identifier) {
    FlatBufferBuilder out(1'024);
    Bulk none;
    out.Finish(TableWriter{out, none}.write(value), identifier);
    return packed(out, none, 0).around;
}

}  // namespace

Packed pack(const Message& message, std::size_t head_bytes) {
    FlatBufferBuilder out(size_hint(message.body));
    Bulk bulk;
    out.Finish(TableWriter{out, bulk}.write(message));
    return packed(out, bulk, head_bytes);
}

Buffer pack(const Plan& plan) {
    return packed_root(plan, nullptr);
}

Buffer pack(const VoterState& state) {
    return packed_root(state, kVoterStateIdentifier);
}

Buffer pack(const SignedGeneration& generation) {
    return packed_root(Generation{generation}, kGenerationIdentifier);
}

Buffer pack(const Decision& decision) {
    return packed_root(decision, kDecisionIdentifier);
}

}  // namespace dedloc::wire
