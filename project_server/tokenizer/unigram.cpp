// Viterbi's algorithm over the bytes of a text: best[i] is the best division of the first i bytes.
// A character that is no piece by itself may always be unknown, at a penalty.
#include "project_server/tokenizer/unigram.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "peer/base/check.hpp"
#include "peer/base/utf8.hpp"

namespace dedloc::tokenizer {
namespace {

constexpr double kUnknownPenalty = 10;

}  // namespace

/// The best division that ends at one byte.
struct Unigram::Best {
    double score = 0;
    std::optional<std::size_t>
        begin;             ///< the last token's first byte; absent: no division ends here
    std::uint16_t id = 0;  ///< the last token
};

Unigram::Unigram(const std::vector<huggingface::ScoredPiece>& pieces, std::uint16_t unknown)
    : unknown_(unknown) {
    DEDLOC_CHECK(unknown < pieces.size() && pieces.size() <= 65'536, "ids have 16 bits",
                 pieces.size());
    std::unordered_map<std::string_view, std::uint16_t> ids;  // the last of equal pieces counts
    double lowest = pieces[0].score;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        ids[pieces[i].text] = static_cast<std::uint16_t>(i);
        scores_.push_back(pieces[i].score);
        lowest = std::min(lowest, pieces[i].score);
    }
    unknown_score_ = lowest - kUnknownPenalty;
    ids.erase("");
    std::vector<std::pair<std::string_view, std::uint16_t>> sorted(ids.begin(), ids.end());
    std::ranges::sort(sorted);
    build(std::move(sorted));
}

/// Builds the trie level by level, so that the children of a node are consecutive.
void Unigram::build(std::vector<std::pair<std::string_view, std::uint16_t>> sorted) {
    struct Range {
        std::size_t begin, end, depth;
    };
    std::vector<Range> ranges{{0, sorted.size(), 0}};
    nodes_.emplace_back();
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
        auto [at, end, depth] = ranges[n];
        if (at < end && sorted[at].first.size() == depth) {
            nodes_[n].is_piece = true;
            nodes_[n].id = sorted[at++].second;
        }
        nodes_[n].children = static_cast<std::uint32_t>(nodes_.size());
        while (at < end) {
            const char label = sorted[at].first[depth];
            const std::size_t begin = at;
            while (at < end && sorted[at].first[depth] == label) ++at;
            ranges.push_back({begin, at, depth + 1});
            auto& node = nodes_.emplace_back();
            node.label = static_cast<unsigned char>(label);
            ++nodes_[n].count;
        }
    }
}

const Unigram::Node* Unigram::child(const Node& node, unsigned char label) const {
    const Node* const first = nodes_.data() + node.children;
    const Node* const last = first + node.count;
    const Node* const found = std::lower_bound(
        first, last, label, [](const Node& a, unsigned char byte) { return a.label < byte; });
    return found != last && found->label == label ? found : nullptr;
}

/// Tries every token that begins at this byte.
void Unigram::extend(std::string_view text, std::size_t begin, std::vector<Best>& best) const {
    const double score = best[begin].score;
    const std::size_t character = begin + utf8_length(text.substr(begin));
    const auto offer = [&](std::size_t end, std::uint16_t id, double sum) {
        if (best[end].begin && sum <= best[end].score) return;
        best[end] = {.score = sum, .begin = begin, .id = id};
    };
    bool is_known = false;
    const Node* node = nodes_.data();
    for (std::size_t end = begin; end < text.size();) {
        node = child(*node, static_cast<unsigned char>(text[end++]));
        if (node == nullptr) break;
        if (!node->is_piece) continue;
        offer(end, node->id, scores_[node->id] + score);
        is_known = is_known || end == character;
    }
    if (!is_known) offer(character, unknown_, unknown_score_ + score);
}

void Unigram::encode(std::string_view text, std::vector<std::uint16_t>& ids) const {
    std::vector<Best> best(text.size() + 1);
    for (std::size_t at = 0; at < text.size(); at += utf8_length(text.substr(at))) {
        extend(text, at, best);
    }
    const auto first = static_cast<std::ptrdiff_t>(ids.size());
    bool after_unknown = false;
    for (std::size_t end = text.size(); end > 0; end = *best[end].begin) {
        const bool is_unknown = best[end].id == unknown_;
        if (!is_unknown || !after_unknown) ids.push_back(best[end].id);
        after_unknown = is_unknown;
    }
    std::reverse(ids.begin() + first, ids.end());
}

}  // namespace dedloc::tokenizer
