// The Unigram model: the most probable division of a text into pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "project_server/huggingface/tokenizer_spec.hpp"

namespace dedloc::tokenizer {

/// Divides texts as the model "Unigram" of the library `tokenizers`: scores are added in double
/// precision, of equal sums the first one found wins, and consecutive unknown characters are one
/// token. SentencePiece adds in single precision, so its ids may differ. Thread: any.
class Unigram final {
  public:
    /// Requires at least one piece, at most 65,536, and `unknown` to be one of them (aborts).
    Unigram(const std::vector<huggingface::ScoredPiece>& pieces, std::uint16_t unknown);

    /// Appends the ids of a text in UTF-8.
    void encode(std::string_view text, std::vector<std::uint16_t>& ids) const;

  private:
    /// A node of the trie of all pieces. Its children are consecutive.
    struct Node {
        std::uint32_t children = 0;  ///< index of the first
        std::uint16_t count = 0;     ///< number of children
        unsigned char label = 0;     ///< the byte that leads here
        bool is_piece = false;
        std::uint16_t id = 0;  ///< the piece's, if it is one
    };
    struct Best;
    void build(std::vector<std::pair<std::string_view, std::uint16_t>> sorted);
    const Node* child(const Node& node, unsigned char label) const;
    void extend(std::string_view text, std::size_t begin, std::vector<Best>& best) const;

    std::vector<double> scores_;  ///< in the order of ids
    const std::uint16_t unknown_;
    double unknown_score_ = 0;
    std::vector<Node> nodes_;  ///< the root first
};

}  // namespace dedloc::tokenizer
