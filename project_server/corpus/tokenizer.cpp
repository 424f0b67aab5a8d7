// SentencePiece loads every model, but a pipeline makes the ids if the model's own files describe
// one. Special tokens come from these files or are looked up by their usual names; the name of the
// piece that was found is compared, because an unknown name has the id of the unknown piece.
// unknown_count() subtracts the places where the text itself spells the unknown token.
#include "project_server/corpus/tokenizer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sentencepiece_processor.h>

#include <algorithm>
#include <optional>
#include <set>

#include "peer/base/error.hpp"
#include "project_server/tokenizer/characters.hpp"
#include "project_server/tokenizer/pipeline.hpp"
#include "project_server/tokenizer/train_unigram.hpp"

namespace dedloc::corpus {
namespace {

constexpr int kMaxPieces = 65'536;  // token ids have 16 bits

}  // namespace

std::string train_tokenizer(const std::vector<std::string>& sentences, int vocabulary) {
    return tokenizer::train_unigram(sentences, static_cast<std::size_t>(vocabulary),
                                    {{"normalization_rule_name", "nmt_nfkc_cf"}});
}

struct Tokenizer::Model {
    sentencepiece::SentencePieceProcessor processor;  ///< unused without a SentencePiece model
    std::vector<std::string> pieces;                  ///< their texts, by id
    std::vector<bool> is_plain;  ///< which are neither special nor unknown, by id
    /// Makes the ids instead of the processor, if there is one.
    std::optional<tokenizer::Pipeline> pipeline;
};

Tokenizer::Tokenizer(const std::string& model, const std::string& name)
    : name_(name), model_(std::make_unique<Model>()) {
    load(model);
    find_special_tokens();
}

Tokenizer::Tokenizer(const tokenizer::ModelTokenizer& found)
    : name_(found.file.string()), model_(std::make_unique<Model>()) {
    if (!found.model.empty()) load(found.model);
    if (found.spec) {
        if (found.model.empty()) take_pieces(*found.spec);
        model_->pipeline.emplace(*found.spec);
        special_ = found.special;
    } else {
        find_special_tokens();
    }
}

void Tokenizer::load(const std::string& model) {
    auto& processor = model_->processor;
    if (!processor.LoadFromSerializedProto(model).ok() || processor.GetPieceSize() > kMaxPieces) {
        throw InputError(
            fmt::format("{} is not a SentencePiece model of at most {} pieces", name_, kMaxPieces));
    }
    for (int id = 0; id < processor.GetPieceSize(); ++id) {
        model_->pieces.push_back(processor.IdToPiece(id));
        model_->is_plain.push_back(!processor.IsControl(id) && !processor.IsUnknown(id));
    }
}

void Tokenizer::take_pieces(const huggingface::TokenizerSpec& spec) {
    for (const auto& piece : spec.pieces) model_->pieces.push_back(piece.text);
    model_->is_plain.assign(spec.pieces.size(), true);
    model_->is_plain[spec.unknown] = false;
    for (const auto& token : spec.added) {
        if (token.is_special) model_->is_plain[token.id] = false;
    }
}

Tokenizer::~Tokenizer() = default;

std::uint16_t Tokenizer::id_of(std::initializer_list<const char*> names,
                               const char* meaning) const {
    const auto& processor = model_->processor;
    for (const char* const name : names) {
        // An unknown name has the id of the unknown piece.
        const int id = processor.PieceToId(name);
        if (processor.IdToPiece(id) == name) return static_cast<std::uint16_t>(id);
    }
    throw InputError(fmt::format("the tokenizer {} has no {} token: no piece is named {}", name_,
                                 meaning, fmt::join(names, " or ")));
}

void Tokenizer::find_special_tokens() {
    special_.pad = id_of({"<pad>", "[PAD]"}, "padding");
    special_.unknown = static_cast<std::uint16_t>(model_->processor.unk_id());
    special_.cls = id_of({"[CLS]", "<cls>", "<s>"}, "class");
    special_.sep = id_of({"[SEP]", "<sep>", "</s>"}, "separator");
    special_.mask = id_of({"[MASK]", "<mask>"}, "mask");
    const std::set<std::uint16_t> distinct{special_.pad, special_.unknown, special_.cls,
                                           special_.sep, special_.mask};
    if (distinct.size() != 5) {
        throw InputError(fmt::format("the tokenizer {} has one id for two special tokens", name_));
    }
}

std::vector<std::uint16_t> Tokenizer::encode(const std::string& sentence) const {
    if (model_->pipeline) return model_->pipeline->encode(sentence);
    std::vector<int> ids;
    const auto status = model_->processor.Encode(sentence, &ids);
    if (!status.ok()) throw InputError("a sentence cannot be tokenised");
    return {ids.begin(), ids.end()};
}

std::uint64_t Tokenizer::unknown_count(const std::string& sentence,
                                       const std::vector<std::uint16_t>& ids) const {
    const auto unknown =
        static_cast<std::uint64_t>(std::ranges::count(ids, special_tokens().unknown));
    if (unknown == 0) return 0;
    const std::string& text = model_->pieces[special_.unknown];
    std::uint64_t written = 0;
    for (auto at = sentence.find(text); at != std::string::npos;
         at = sentence.find(text, at + text.size())) {
        ++written;
    }
    return unknown - std::min(unknown, written);
}

bool Tokenizer::loses_capitals() const {
    const auto has_capital = [](const std::string& text) {
        for (std::size_t at = 0; at < text.size();) {
            if (tokenizer::is_capital(tokenizer::next_character(text, at))) return true;
        }
        return false;
    };
    for (std::size_t id = 0; id < model_->pieces.size(); ++id) {
        if (model_->is_plain[id] && has_capital(model_->pieces[id])) return false;
    }
    const auto ids = encode("A");
    return std::ranges::find(ids, special_.unknown) != ids.end();
}

std::uint64_t Tokenizer::vocabulary() const {
    return model_->pieces.size();
}

}  // namespace dedloc::corpus
