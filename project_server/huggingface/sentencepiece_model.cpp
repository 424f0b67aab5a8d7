// The file is a protocol buffer (sentencepiece_model.proto): a sequence of fields, each a key
// (number and wire type) and a value. Fields that are not needed are skipped.
#include "project_server/huggingface/sentencepiece_model.hpp"

#include <bit>
#include <functional>
#include <optional>

#include "peer/base/error.hpp"

namespace dedloc::huggingface {
namespace {

constexpr std::size_t kMaxPieces = 65'536;

/// A field's value: a number for fields of a fixed size and varints, else bytes.
struct Field {
    std::uint64_t number = 0;
    std::uint64_t value = 0;
    std::span<const std::byte> bytes;
};

[[noreturn]] void refuse() {
    throw InputError("the tokenizer is not a SentencePiece model of at most 65,536 pieces");
}

std::uint64_t read_varint(ByteReader& reader) {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const auto byte = reader.read<std::uint8_t>();
        if (!byte) refuse();
        number |= std::uint64_t{*byte & 0x7FU} << shift;
        if (*byte < 0x80) return number;
    }
    refuse();
}

template <class T>
std::uint64_t read_fixed(ByteReader& reader) {
    const auto value = reader.read<T>();
    if (!value) refuse();
    return *value;
}

std::span<const std::byte> read_bytes(ByteReader& reader) {
    const std::uint64_t length = read_varint(reader);
    if (length > reader.remaining()) refuse();
    return *reader.take(static_cast<std::size_t>(length));
}

/// Visits the fields of one message.
void for_each_field(std::span<const std::byte> message,
                    const std::function<void(const Field&)>& visit) {
    ByteReader reader{message};
    while (reader.remaining() > 0) {
        const std::uint64_t key = read_varint(reader);
        Field field{.number = key >> 3, .value = 0, .bytes = {}};
        switch (key & 7) {
            case 0:
                field.value = read_varint(reader);
                break;
            case 1:
                field.value = read_fixed<std::uint64_t>(reader);
                break;
            case 2:
                field.bytes = read_bytes(reader);
                break;
            case 5:
                field.value = read_fixed<std::uint32_t>(reader);
                break;
            default:
                refuse();
        }
        visit(field);
    }
}

std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Piece read_piece(std::span<const std::byte> message) {
    Piece piece;
    for_each_field(message, [&](const Field& field) {
        if (field.number == 1) piece.text = text_of(field.bytes);
        if (field.number == 2) {
            piece.score = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
        }
        if (field.number == 3) piece.type = field.value;
    });
    return piece;
}

void read_normaliser(std::span<const std::byte> message, SentencePieceModel& model) {
    for_each_field(message, [&](const Field& field) {
        if (field.number == 2) model.charsmap = text_of(field.bytes);
        if (field.number == 3) model.adds_prefix = field.value != 0;
        if (field.number == 4) model.removes_extra_blanks = field.value != 0;
    });
}

}  // namespace

SentencePieceModel parse_sentencepiece(std::span<const std::byte> bytes) {
    SentencePieceModel model;
    for_each_field(bytes, [&](const Field& field) {
        if (field.number == 1) model.pieces.push_back(read_piece(field.bytes));
        if (model.pieces.size() > kMaxPieces) refuse();
        if (field.number == 2) {
            for_each_field(field.bytes, [&](const Field& option) {
                if (option.number == 3) model.algorithm = option.value;
                if (option.number == 40) model.unknown = option.value;
            });
        }
        if (field.number == 3) read_normaliser(field.bytes, model);
    });
    if (model.pieces.empty()) refuse();
    return model;
}

}  // namespace dedloc::huggingface
