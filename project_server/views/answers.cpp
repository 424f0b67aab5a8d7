// Sentences may change while a run trains, so the page shows those of the newest state, and of
// earlier states the answers to the same sentences.
#include "project_server/views/answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace dedloc::server {
namespace {

/// Evaluations that a page shows, from the first to the last.
constexpr std::size_t kShownStates = 8;

/// A state and its answers.
using State = std::pair<std::uint64_t, std::vector<MaskedAnswer>>;

/// Evenly chosen evaluations, the newest first.
std::vector<std::uint64_t> shown_steps(std::span<const EvaluationRow> rows) {
    std::vector<std::uint64_t> steps;
    const std::size_t count = std::min(kShownStates, rows.size());
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = count == 1 ? 0 : (count - 1 - i) * (rows.size() - 1) / (count - 1);
        steps.push_back(rows[at].step);
    }
    return steps;
}

/// A word that people see.
std::string shown_word(const std::string& word) {
    const bool is_blank = word.find_first_not_of(' ') == std::string::npos;
    return is_blank ? "␣" : word;
}

/// An untrained model gives each of its words a share that would be rounded to nothing.
std::string share_text(double probability) {
    return probability < 0.0005 ? "< 0.1 %" : fmt::format("{:.1f} %", 100 * probability);
}

json::Value::List word_list(const MaskedAnswer& answer) {
    json::Value::List words;
    for (const AnsweredWord& word : answer.words) {
        json::Value item;
        item.set("word", shown_word(word.word))
            .set("share", share_text(word.probability))
            .set("is_wanted", !answer.wanted.empty() && word.word == answer.wanted);
        words.push_back(std::move(item));
    }
    return words;
}

/// What the states say of this sentence.
json::Value::List states_of(const MaskedAnswer& sentence, const std::vector<State>& states) {
    json::Value::List list;
    for (const auto& [step, answers] : states) {
        const auto same = std::ranges::find_if(answers, [&](const MaskedAnswer& answer) {
            return answer.before == sentence.before && answer.after == sentence.after;
        });
        if (same == answers.end()) continue;
        json::Value state;
        list.push_back(std::move(state.set("step", step).set("words", word_list(*same))));
    }
    return list;
}

}  // namespace

json::Value::List answer_list(std::span<const MaskedAnswer> answers) {
    json::Value::List list;
    for (const MaskedAnswer& answer : answers) {
        json::Value::List words;
        for (const AnsweredWord& word : answer.words) {
            json::Value item;
            words.push_back(
                std::move(item.set("word", word.word).set("probability", word.probability)));
        }
        json::Value data;
        data.set("before", answer.before)
            .set("after", answer.after)
            .set("wanted", answer.wanted)
            .set("words", std::move(words));
        list.push_back(std::move(data));
    }
    return list;
}

void read_answers_of(Database& database, std::int64_t run, std::vector<EvaluationRow>& rows) {
    std::vector<std::uint64_t> steps;
    for (const EvaluationRow& row : rows) steps.push_back(row.step);
    auto answers = read_answers(database, run, steps);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].answers = std::move(answers[i]);
}

void add_answers(json::Value& data, Database& database, std::int64_t run,
                 std::span<const EvaluationRow> rows) {
    const std::vector<std::uint64_t> steps = shown_steps(rows);
    auto answers = read_answers(database, run, steps);
    std::vector<State> states;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (!answers[i].empty()) states.emplace_back(steps[i], std::move(answers[i]));
    }
    data.set("has_sentences", !states.empty());
    if (states.empty()) return;
    json::Value::List sentences;
    for (const MaskedAnswer& sentence : states.front().second) {
        json::Value item;
        item.set("before", sentence.before)
            .set("after", sentence.after)
            .set("wanted", sentence.wanted)
            .set("has_wanted", !sentence.wanted.empty())
            .set("states", states_of(sentence, states));
        sentences.push_back(std::move(item));
    }
    data.set("sentences", std::move(sentences));
}

}  // namespace dedloc::server
