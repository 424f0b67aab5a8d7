// Masked sentences: what is drawn, what an administrator may choose, and what a model answers.
#include "project_server/evaluate/masked_sentences.hpp"

#include <catch2/catch.hpp>
#include <numeric>

#include "boinc_app/albert/albert.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/state/run_state.hpp"
#include "project_server/evaluate/run_questions.hpp"
#include "project_server/runs/masked_lines.hpp"
#include "tests/boinc_app/tiny_world.hpp"
#include "tests/project_server/evaluate/word_tokenizer.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::evaluate {
namespace {

std::string fault_of_lines(std::string_view text) {
    try {
        runs::parse_masked_lines("f", text);
    } catch (const InputError& error) {
        return error.what();
    }
    return {};
}

AlignedFloats first_parameters(const formats::RunFile& run) {
    training::set_compute_threads(1);
    const FloatVector values = state::initial_parameters(run);
    return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("a file of masked sentences is read, or refused in one sentence", "[server]") {
    const auto lines =
        runs::parse_masked_lines("f", "a [MASK] c.\tb\r\n\nThe <b>[MASK]</b> & \"you\"\n");
    REQUIRE(lines.size() == 2);
    CHECK(lines[0] == runs::MaskedLine{.sentence = "a [MASK] c.", .wanted = "b"});
    CHECK(lines[1] == runs::MaskedLine{.sentence = "The <b>[MASK]</b> & \"you\"", .wanted = ""});
    CHECK(fault_of_lines("") == "f has no sentence");
    CHECK(fault_of_lines("a [MASK]\nb\n") ==
          "f:2: a sentence has [MASK] once, for the word that the model shall guess");
    CHECK(fault_of_lines("[MASK] [MASK]\n").starts_with("f:1: a sentence has [MASK] once"));
    CHECK(fault_of_lines("[MASK]\ta\tb").starts_with("f:1: a line has a sentence, and perhaps"));
    CHECK(fault_of_lines("[MASK]\xff") == "f:1: the text is not plain UTF-8");
    CHECK(fault_of_lines("[MASK]\x1b[2J") == "f:1: the text is not plain UTF-8");
    CHECK(fault_of_lines("[MASK]" + std::string(1'000, 'x')) ==
          "f:1: a line has at most 1000 bytes");
    std::string many;
    for (int i = 0; i < 9; ++i) many += "[MASK]\n";
    CHECK(fault_of_lines(many) == "f:9: there are more than 8 sentences");
}

TEST_CASE("sentences are drawn from held-out text, always the same", "[server]") {
    const formats::RunFile run = test::tiny_run();
    const auto spec = test::word_tokenizer(run);
    const std::vector<formats::Shard> shards{test::skewed_shard(run, 2)};
    const auto drawn = drawn_sentences(run, shards, spec, 4);
    REQUIRE(drawn.size() == 4);
    for (const MaskedSentence& sentence : drawn) {
        CAPTURE(sentence.before, sentence.wanted, sentence.after);
        CHECK(sentence.tokens.front() == run.special_tokens.cls);
        CHECK(sentence.tokens.back() == run.special_tokens.sep);
        CHECK(sentence.tokens.at(sentence.masked_at) == run.special_tokens.mask);
        CHECK(sentence.before.starts_with("word"));
        CHECK(sentence.wanted.starts_with("word"));
        CHECK(sentence.after.starts_with(" word"));
    }
    const auto again = drawn_sentences(run, shards, spec, 2);
    REQUIRE(again.size() == 2);
    CHECK(again[0].tokens == drawn[0].tokens);
    CHECK(again[1].masked_at == drawn[1].masked_at);
    CHECK(drawn_sentences(run, {}, spec, 4).empty());
}

TEST_CASE("a model answers with its most probable words", "[server]") {
    const formats::RunFile run = test::tiny_run();
    const auto spec = test::word_tokenizer(run);
    const AlignedFloats parameters = first_parameters(run);
    const auto chosen =
        chosen_sentences("f", "word7 word8 [MASK] word9\tword10\nword11 [MASK]\n", run, spec);
    REQUIRE(chosen.size() == 2);
    CHECK(chosen[0].tokens == std::vector<std::uint16_t>{2, 7, 8, 4, 9, 3});
    CHECK(chosen[0].before == "word7 word8");
    CHECK(chosen[0].after == " word9");
    const auto answers = answer_sentences(run, parameters, chosen, spec, {});
    REQUIRE(answers);
    REQUIRE(answers->size() == 2);
    CHECK((*answers)[0].wanted == "word10");
    CHECK((*answers)[1].wanted.empty());
    for (const server::MaskedAnswer& answer : *answers) {
        REQUIRE(answer.words.size() == kAnsweredWords);
        double sum = 0;
        for (std::size_t i = 0; i < answer.words.size(); ++i) {
            sum += answer.words[i].probability;
            if (i > 0) CHECK(answer.words[i].probability <= answer.words[i - 1].probability);
        }
        CHECK(sum < 1);
        CHECK(sum > 5.0 / 60);
    }
    // A sentence by itself has the same answers as beside a longer one.
    const auto alone = answer_sentences(run, parameters, {chosen[1]}, spec, {});
    REQUIRE(alone);
    CHECK((*alone)[0].words[0].word == (*answers)[1].words[0].word);
    CHECK((*alone)[0].words[0].probability ==
          Approx((*answers)[1].words[0].probability).epsilon(1e-4));
    CHECK_FALSE(answer_sentences(run, parameters, chosen, spec, [] { return true; }));
    CHECK(answer_sentences(run, parameters, {}, spec, {})->empty());
}

TEST_CASE("the probabilities of all tokens sum to one", "[server]") {
    const formats::RunFile run = test::tiny_run();
    const AlignedFloats parameters = first_parameters(run);
    training::albert::Albert model{run, parameters};
    const training::albert::MicroBatch batch{.samples = 1,
                                             .length = 3,
                                             .tokens = {2, 4, 3},
                                             .types = {0, 0, 0},
                                             .row_lengths = {3},
                                             .masked_at = {1},
                                             .masked_tokens = {},
                                             .masked_weights = {},
                                             .is_swapped = {},
                                             .dropout_keys = {0}};
    const auto guesses = model.guesses(batch, 60).value().at(0);
    CHECK(std::accumulate(guesses.begin(), guesses.end(), 0.0, [](double sum, const auto& guess) {
              return sum + guess.probability;
          }) == Approx(1).epsilon(1e-5));
}

TEST_CASE("a mask that the tokenizer does not make is refused", "[server]") {
    const formats::RunFile run = test::tiny_run();
    auto spec = test::word_tokenizer(run);
    spec.added.pop_back();
    spec.pieces[run.special_tokens.mask].text = "▁other";
    CHECK_THROWS_WITH(chosen_sentences("f", "word7 [MASK]", run, spec),
                      Catch::Contains("makes no masked token of [MASK]"));
    std::string text;
    for (int i = 0; i < 40; ++i) text += "word7 ";
    CHECK_THROWS_WITH(chosen_sentences("f", text + "[MASK]", run, test::word_tokenizer(run)),
                      Catch::Contains("in the first 30 tokens"));
}

TEST_CASE("a run is asked the administrator's sentences from the next measurement on", "[server]") {
    start_log("test", LogLevel::kError);
    const TemporaryDirectory folder;
    formats::RunFile run = test::tiny_run();
    const formats::Shard shard = test::skewed_shard(run, 2);
    run.shards = {{.name = "shard_b",
                   .digest = blake2b(shard.file),
                   .bytes = shard.file.size(),
                   .is_held_out = true}};
    std::filesystem::create_directories(folder.path() / "held_out");
    platform::replace_file(folder.path() / "held_out" / "shard_b", shard.file);
    const AlignedFloats parameters = first_parameters(run);
    RunQuestions questions{folder.path(), run};
    CHECK(questions.ask(parameters, {})->empty());  // no tokenizer
    test::write_word_tokenizer(folder.path(), run);
    CHECK(questions.ask(parameters, {})->size() == kDrawnSentences);

    const auto file = folder.path() / "mine.txt";
    platform::replace_file(file, "word7 [MASK]\tword9\n");
    CHECK(runs::set_masked_lines(folder.path(), run, file) == 1);
    REQUIRE(questions.ask(parameters, {})->size() == 1);
    CHECK(questions.ask(parameters, {})->at(0).wanted == "word9");
    CHECK(runs::set_masked_lines(folder.path(), run, {}) == 0);
    CHECK(questions.ask(parameters, {})->size() == kDrawnSentences);

    std::string text;
    for (int i = 0; i < 40; ++i) text += "word7 ";
    platform::replace_file(file, text + "[MASK]\n");
    CHECK_THROWS_WITH(runs::set_masked_lines(folder.path(), run, file),
                      Catch::Contains("[MASK] is not among the first 30 tokens"));
    platform::replace_file(folder.path() / runs::kMaskedLinesFile, std::string_view{"damaged"});
    CHECK(questions.ask(parameters, {})->empty());
}

}  // namespace dedloc::evaluate
