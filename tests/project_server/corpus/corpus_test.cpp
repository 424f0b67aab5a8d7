// Building a corpus: whole, restartable, the same every time; its errors are one sentence.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

#include "peer/base/error.hpp"
#include "peer/base/random.hpp"
#include "peer/formats/shard.hpp"
#include "peer/platform/files.hpp"
#include "project_server/corpus/build.hpp"
#include "project_server/corpus/encoder.hpp"
#include "project_server/corpus/tokenizer.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::corpus {
namespace {

namespace fs = std::filesystem;

/// Paragraphs of random words, hard-wrapped.
std::string some_text(std::uint64_t seed, std::size_t paragraphs) {
    static const std::vector<std::string> kWords{"water", "stone",  "light",  "river",  "cloud",
                                                 "house", "garden", "winter", "letter", "music"};
    Random random{seed};
    std::string text;
    for (std::size_t i = 0; i < paragraphs; ++i) {
        for (std::uint64_t sentences = 2 + random.below(5); sentences > 0; --sentences) {
            text += "The";
            for (std::uint64_t words = 3 + random.below(8); words > 0; --words) {
                text += (random.below(7) == 0 ? "\n" : " ") + kWords[random.below(kWords.size())] +
                        std::to_string(random.below(100));
            }
            text += ". ";
        }
        text += "\n\n";
    }
    return text;
}

/// A SentencePiece model as the builder trains it.
std::string own_tokenizer() {
    std::vector<std::string> sentences;
    for (int i = 0; i < 300; ++i) sentences.push_back(fmt::format("word{} and thing{}", i, i * 7));
    return train_tokenizer(sentences, 100);
}

/// A text and options to build a corpus from it.
struct World {
    TemporaryDirectory folder;
    BuildOptions options;
    explicit World(const std::string& text) {
        platform::replace_file(folder.path() / "text", text);
        options.texts = {folder.path() / "text"};
        options.folder = folder.path() / "corpus";
        options.vocabulary = 120;
        options.shard_tokens = 2'000;
        options.held_out = 0.1;
    }
    /// What the folder has besides the text.
    std::vector<std::string> left() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(folder.path())) {
            if (entry.path() != options.texts[0]) names.push_back(entry.path().filename().string());
        }
        std::ranges::sort(names);
        return names;
    }
    std::string file(const std::string& name) const {
        return platform::read_text(options.folder / name);
    }
    /// All documents of one part, read from its shards, sorted.
    std::vector<EncodedDocument> documents(const Corpus& corpus, bool is_held_out) const {
        std::vector<EncodedDocument> found;
        for (const auto& reference : corpus.shards) {
            if (reference.is_held_out != is_held_out) continue;
            const auto bytes = platform::read_file(options.folder / reference.name, 1 << 24);
            CHECK(blake2b(bytes) == reference.digest);
            CHECK(bytes.size() == reference.bytes);
            const auto shard = formats::decode_shard(bytes);
            REQUIRE(shard);
            for (std::size_t d = 0; d < shard->document_count(); ++d) {
                auto& document = found.emplace_back();
                for (auto s = shard->document_begin(d); s < shard->document_ends[d]; ++s) {
                    const auto sentence = shard->sentence(s);
                    document.emplace_back(sentence.begin(), sentence.end());
                }
            }
        }
        std::ranges::sort(found);
        return found;
    }
};

TEST_CASE("a corpus has all sentences of its text, some of them held out", "[server]") {
    const std::string text = some_text(1, 300);
    const World world{text};
    const Corpus corpus = build_corpus(world.options);
    CHECK(read_corpus(world.options.folder) == corpus);
    CHECK(corpus.vocabulary == 120);
    CHECK(corpus.documents == 300);
    CHECK(corpus.shards.size() > 3);
    CHECK(warning_of(corpus).empty());

    const Tokenizer tokenizer{world.file("tokenizer.model"), "it"};
    DocumentReader reader{world.options.texts[0], DocumentForm::kBlankLine};
    Encoder encoder{tokenizer, "en", 1};
    std::vector<EncodedDocument> expected;
    for (std::string document; reader.next(document);) {
        expected.push_back(encoder.encode({&document, 1})[0].document);
    }
    auto found = world.documents(corpus, false);
    const auto held_out = world.documents(corpus, true);
    CHECK(corpus.held_out == held_out.size());
    CHECK(held_out.size() > 10);
    CHECK(held_out.size() < 50);
    found.insert(found.end(), held_out.begin(), held_out.end());
    std::ranges::sort(found);
    std::ranges::sort(expected);
    CHECK(found == expected);
}

TEST_CASE("the number of threads changes nothing", "[server]") {
    World one{some_text(2, 200)};
    const Corpus first = build_corpus(one.options);
    one.options.threads = 3;
    one.options.folder = one.folder.path() / "again";
    CHECK(build_corpus(one.options) == first);
}

TEST_CASE("a build that is killed anywhere goes on and gives the same bytes", "[server]") {
    World world{some_text(3, 400)};
    // Batches of 4 MiB: several texts give several progress reports, at which it is killed.
    platform::replace_file(world.folder.path() / "text2", some_text(4, 400));
    platform::replace_file(world.folder.path() / "text3", some_text(5, 400));
    world.options.texts.push_back(world.folder.path() / "text2");
    world.options.texts.push_back(world.folder.path() / "text3");
    const Corpus whole = build_corpus(world.options);
    world.options.folder = world.folder.path() / "again";

    int kills = 0;
    for (bool is_done = false; !is_done; ++kills) {
        REQUIRE(kills < 20);
        const pid_t child = fork();
        if (child == 0) {
            int reports = 0;
            build_corpus(world.options, [&](const BuildProgress&) {
                if (++reports > kills) ::kill(getpid(), SIGKILL);
            });
            ::_exit(0);
        }
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child);
        is_done = WIFEXITED(status);
        CHECK(fs::exists(world.options.folder) == is_done);
    }
    CHECK(kills > 3);
    CHECK(read_corpus(world.options.folder) == whole);
    CHECK(world.left() == std::vector<std::string>{"again", "corpus", "text2", "text3"});
    const auto files = std::distance(fs::directory_iterator(world.options.folder), {});
    CHECK(files == static_cast<std::ptrdiff_t>(whole.shards.size()) + 2);
}

TEST_CASE("what a stopped build has written is used only for the same arguments", "[server]") {
    World world{some_text(6, 300)};
    struct Stop {};
    const auto stop = [](const BuildProgress& progress) {
        if (progress.task == BuildProgress::Task::kWriting) throw Stop{};
    };
    CHECK_THROWS_AS(build_corpus(world.options, stop), Stop);
    CHECK(world.left() == std::vector<std::string>{".corpus.building"});
    world.options.shard_tokens = 3'000;
    const Corpus other = build_corpus(world.options);
    CHECK(world.left() == std::vector<std::string>{"corpus"});
    world.options.folder = world.folder.path() / "again";
    CHECK(build_corpus(world.options) == other);

    // Two builds of one folder at a time.
    world.options.folder = world.folder.path() / "both";
    const auto meanwhile = [&](const BuildProgress&) {
        CHECK_THROWS_WITH(build_corpus(world.options), Catch::Contains("another process"));
        throw Stop{};
    };
    CHECK_THROWS_AS(build_corpus(world.options, meanwhile), Stop);
}

TEST_CASE("a text that gives no corpus is refused in one sentence and leaves nothing", "[server]") {
    const auto refused = [](World& world, const std::string& why) {
        CHECK_THROWS_WITH(build_corpus(world.options), Catch::Contains(why));
        CHECK(world.left().empty());
    };
    World empty{""};
    refused(empty, "contains no sentence");
    World blank{"\n \n\t\n"};
    refused(blank, "contains no sentence");
    World small{"Too few words.\n"};
    refused(small, "too small for a vocabulary of 120 pieces");
    World binary{some_text(7, 100) + "\xFF"};
    refused(binary, "is not UTF-8 text");
    World none{"x"};
    none.options.texts.push_back(none.folder.path() / "none");
    refused(none, "No such file or directory");
    World language{some_text(8, 100)};
    language.options.language = "klingonese";
    refused(language, "there is no language 'klingonese'");
    std::string repeated;
    for (int i = 0; i < 2'000; ++i) repeated += "One and the same paragraph. It has two ends.\n\n";
    World again{some_text(9, 100)};
    again.options.tokenizer = again.folder.path() / "model";
    platform::replace_file(again.options.tokenizer, own_tokenizer());
    platform::replace_file(again.options.texts[0], repeated);
    CHECK_THROWS_WITH(build_corpus(again.options), "two shards are equal: the text repeats itself");
    CHECK(again.left() == std::vector<std::string>{"model"});
    World lines{some_text(10, 0)};
    std::string single;
    for (int i = 0; i < 500; ++i) single += fmt::format("Only one sentence number {}.\n\n", i);
    platform::replace_file(lines.options.texts[0], single);
    refused(lines, "none of the 500 documents has two sentences");
    World taken{some_text(11, 100)};
    fs::create_directories(taken.options.folder / "x");
    CHECK_THROWS_WITH(build_corpus(taken.options), Catch::Matchers::EndsWith("exists already"));
}

TEST_CASE("a corpus that looks wrongly divided is warned about", "[server]") {
    World lines{some_text(12, 200)};
    lines.options.form = DocumentForm::kLine;  // the text is hard-wrapped
    CHECK_THAT(warning_of(build_corpus(lines.options)), Catch::Contains("have only one sentence"));
    std::string joined = some_text(13, 2'000);
    for (auto at = joined.find("\n\n"); at != std::string::npos; at = joined.find("\n\n")) {
        joined.erase(at, 1);
    }
    const World one{joined};
    CHECK_THAT(warning_of(build_corpus(one.options)), Catch::Contains("sentences on average"));
}

TEST_CASE("the held-out documents follow from the seed alone", "[server]") {
    World world{some_text(16, 400)};
    const Corpus one = build_corpus(world.options);
    const auto first = world.documents(one, true);
    world.options.tokenizer = world.options.folder / "tokenizer.model";
    world.options.folder = world.folder.path() / "again";
    world.options.shard_tokens = 5'000;
    const auto again = world.documents(build_corpus(world.options), true);
    CHECK(again == first);
    world.options.folder = world.folder.path() / "other";
    world.options.seed = 1;
    const auto other = world.documents(build_corpus(world.options), true);
    CHECK(other != first);
    world.options.folder = world.folder.path() / "none";
    world.options.held_out = 0;
    CHECK(build_corpus(world.options).held_out == 0);
}

TEST_CASE("the shares of texts with weights are as the weights say", "[server]") {
    World world{some_text(17, 300)};
    world.options.texts.push_back(world.folder.path() / "text2");
    platform::replace_file(world.options.texts[1], some_text(18, 1'200));
    world.options.weights = {3, 1};
    const Corpus corpus = build_corpus(world.options);
    CHECK(std::ranges::is_sorted(corpus.shards, {}, &formats::ShardReference::name));
    std::map<std::uint64_t, double> masses;
    for (const auto& reference : corpus.shards) {
        if (reference.is_held_out) continue;
        const auto shard = formats::decode_shard(
            platform::read_file(world.options.folder / reference.name, 1 << 24));
        REQUIRE(shard);
        masses[reference.weight] += static_cast<double>(reference.weight * shard->start_count());
    }
    REQUIRE(masses.size() == 2);
    // The smaller text has the larger weight.
    CHECK(masses.rbegin()->second / masses.begin()->second == Approx(3).epsilon(1e-5));

    world.options.weights = {3};
    world.options.folder = world.folder.path() / "again";
    CHECK_THROWS_WITH(build_corpus(world.options), Catch::Contains("2 texts but 1 weights"));
    world.options.weights = {1, 1};
    platform::replace_file(world.options.texts[1], "One.\n\nTwo.\n\nThree.\n");
    CHECK_THROWS_WITH(build_corpus(world.options), "text 2 has no document of two sentences");
}

TEST_CASE("an existing tokenizer is used as it is", "[server]") {
    World world{some_text(14, 300)};
    const Corpus trained = build_corpus(world.options);
    world.options.tokenizer = world.options.folder / "tokenizer.model";
    world.options.folder = world.folder.path() / "again";
    CHECK(build_corpus(world.options) == trained);
    CHECK(trained.special_tokens == formats::SpecialTokens{});

    world.options.folder = world.folder.path() / "third";
    world.options.tokenizer = world.options.texts[0];
    CHECK_THROWS_WITH(build_corpus(world.options),
                      Catch::Contains("text is not a SentencePiece model of at most 65536 pieces"));
    world.options.tokenizer = world.folder.path() / "none";
    CHECK_THROWS_WITH(build_corpus(world.options), Catch::Contains("none"));
    CHECK_FALSE(fs::exists(world.options.folder));
}

TEST_CASE("special tokens are found by their names, and a missing one is named", "[server]") {
    const std::string model = own_tokenizer();
    const Tokenizer own{model, "own"};
    CHECK(own.special_tokens() == formats::SpecialTokens{});
    // The same model with other names of equal length, as other tokenizers have.
    const auto renamed = [&](std::string_view from, std::string_view to) {
        std::string other = model;
        const auto at = other.find(from);
        REQUIRE(at != std::string::npos);
        other.replace(at, from.size(), to);
        return other;
    };
    CHECK(Tokenizer(renamed("<pad>", "[PAD]"), "x").special_tokens() == formats::SpecialTokens{});
    CHECK(Tokenizer(renamed("[MASK]", "<mask>"), "x").special_tokens() == formats::SpecialTokens{});
    CHECK_THROWS_WITH(Tokenizer(renamed("[MASK]", "[NASK]"), "x"),
                      "the tokenizer x has no mask token: no piece is named [MASK] or <mask>");
    CHECK_THROWS_WITH(Tokenizer(renamed("<pad>", "<bad>"), "x"),
                      "the tokenizer x has no padding token: no piece is named <pad> or [PAD]");
    CHECK_THROWS_WITH(Tokenizer(renamed("[SEP]", "[SAP]"), "x"),
                      Catch::Contains("has no separator token"));
}

TEST_CASE("a damaged corpus.json is one sentence", "[server]") {
    const World world{some_text(15, 100)};
    build_corpus(world.options);
    const auto file = world.options.folder / "corpus.json";
    const std::string good = platform::read_text(file);
    const auto refused = [&](const std::string& from, const std::string& to,
                             const std::string& why) {
        std::string bad = good;
        bad.replace(bad.find(from), from.size(), to);
        platform::replace_file(file, bad);
        CHECK_THROWS_WITH(read_corpus(world.options.folder), Catch::Contains(why));
    };
    refused("\"vocabulary\": 120", "\"vocabulary\": 0", "'vocabulary'");
    refused("\"vocabulary\"", "\"vokabulary\"", "'vocabulary'");
    refused("\"mask\": 4", "\"mask\": 120", "'special_tokens.mask'");
    refused("\"mask\": 4", "\"mask\": 3", "'special_tokens.mask' must differ");
    refused("\"digest\": \"", "\"digest\": \"x", "'shards[0].digest'");
    refused("\"digest\": \"", "\"weight\": 0, \"digest\": \"", "'shards[0].weight'");
    refused("\"tokens\"", "\"extra\": 1,\"tokens\"", "'extra'");
    refused("{", "", "corpus.json");
    platform::replace_file(file, good.substr(0, good.size() / 2));
    CHECK_THROWS_AS(read_corpus(world.options.folder), InputError);
    fs::remove(file);
    CHECK_THROWS_WITH(read_corpus(world.options.folder), Catch::Contains("is not a corpus"));
}

/// A model's folder whose pieces have no capital and whose tokenizer changes to lower case.
struct LowerCaseModel {
    explicit LowerCaseModel(const fs::path& path) : folder(path) {
        fs::create_directory(folder);
        fs::copy_file(fs::path{DEDLOC_FIXTURES} / "spiece.model", folder / "spiece.model");
        configure(R"({"tokenizer_class":"AlbertTokenizer","do_lower_case":true})");
    }
    void configure(const std::string& json) const {
        platform::replace_file(folder / "tokenizer_config.json", json);
    }
    const fs::path folder;
};

constexpr const char* kLoudText = "THE SERVER SENDS A FILE. A FILE IS IN THE PROJECT.\n";

TEST_CASE("a corpus has the ids of its model's own tokenizer, and says what that did", "[server]") {
    World world{kLoudText};
    const LowerCaseModel model{world.folder.path() / "model"};
    world.options.held_out = 0;
    world.options.tokenizer = model.folder;
    const Corpus corpus = build_corpus(world.options);
    REQUIRE(corpus.rules);
    CHECK(corpus.rules->lower_case);
    CHECK(corpus.rules->strips_accents);
    CHECK(corpus.rules->tokenizer == blake2b(bytes_of(world.file("tokenizer.json"))));
    CHECK(corpus.unknown == 0);
    CHECK(read_corpus(world.options.folder) == corpus);
    CHECK(world.file("tokenizer.model") == platform::read_text(model.folder / "spiece.model"));

    // The same text in lower case has the same ids.
    World quiet{"the server sends a file. A file is in the project.\n"};
    quiet.options.held_out = 0;
    quiet.options.tokenizer = model.folder / "spiece.model";
    const Corpus other = build_corpus(quiet.options);
    CHECK(quiet.documents(other, false) == world.documents(corpus, false));

    // A corpus is a tokenizer's folder, too.
    World again{kLoudText};
    again.options.held_out = 0;
    again.options.tokenizer = world.options.folder;
    CHECK(build_corpus(again.options).rules == corpus.rules);
    again.options.folder = again.folder.path() / "second";
    again.options.tokenizer = world.options.folder / "tokenizer.model";
    CHECK(build_corpus(again.options).shards == corpus.shards);
}

TEST_CASE("a corpus of a tokenizer.json has that file, byte for byte, and nothing else",
          "[server]") {
    World of_model{kLoudText};
    const LowerCaseModel model{of_model.folder.path() / "model"};
    of_model.options.held_out = 0;
    of_model.options.tokenizer = model.folder;
    const Corpus expected = build_corpus(of_model.options);

    World world{kLoudText};
    world.options.held_out = 0;
    world.options.tokenizer = world.folder.path() / "community.json";
    const std::string json = of_model.file("tokenizer.json") + "\n\n";
    platform::replace_file(world.options.tokenizer, json);
    const Corpus corpus = build_corpus(world.options);
    CHECK(world.documents(corpus, false) == of_model.documents(expected, false));
    CHECK(world.file("tokenizer.json") == json);
    CHECK_FALSE(fs::exists(world.options.folder / "tokenizer.model"));
    REQUIRE(corpus.rules);
    CHECK(corpus.rules->is_whole);
    CHECK(corpus.rules->tokenizer == blake2b(bytes_of(json)));
    CHECK(corpus.vocabulary == expected.vocabulary);
    CHECK(corpus.special_tokens == expected.special_tokens);
    CHECK(read_corpus(world.options.folder) == corpus);
    CHECK(has_whole_tokenizer(world.options.folder));
    CHECK_FALSE(has_whole_tokenizer(of_model.options.folder));
    CHECK(tokenizer_fault(world.options.folder).empty());
    CHECK(warning_of_tokenizer(world.options).empty());
    // That folder is a tokenizer's folder, too.
    World again{kLoudText};
    again.options.held_out = 0;
    again.options.tokenizer = world.options.folder;
    CHECK(build_corpus(again.options).rules == corpus.rules);
}

TEST_CASE("a text that its tokenizer does not know is refused, unless that is accepted",
          "[server]") {
    World world{kLoudText};
    const LowerCaseModel model{world.folder.path() / "model"};
    world.options.held_out = 0;
    world.options.tokenizer = model.folder;
    model.configure(R"({"tokenizer_class":"AlbertTokenizer","do_lower_case":false})");
    CHECK_THROWS_WITH(build_corpus(world.options),
                      Catch::Contains("are text that is in no piece of the tokenizer, such as") &&
                          Catch::Contains(" T") && Catch::Contains("--max-unknown"));
    CHECK(world.left() == std::vector<std::string>{"model"});
    CHECK_FALSE(warning_of_tokenizer(world.options).empty());
    // SentencePiece alone loses them as well.
    fs::remove(model.folder / "tokenizer_config.json");
    CHECK_THROWS_WITH(build_corpus(world.options), Catch::Contains("in no piece"));
    CHECK_THAT(warning_of_tokenizer(world.options), Catch::Contains("no piece with a capital"));
    world.options.max_unknown = 1;
    const Corpus corpus = build_corpus(world.options);
    CHECK(corpus.unknown > 5);
    CHECK_FALSE(corpus.rules);
    CHECK(unknown_share(corpus) > 0.1);
    CHECK_FALSE(fs::exists(world.options.folder / "tokenizer.json"));
    // As AlbertTokenizer would, on request.
    world.options.folder = world.folder.path() / "lower";
    world.options.rules = tokenizer::AlbertRules{};
    world.options.max_unknown = 0.01;
    CHECK(warning_of_tokenizer(world.options).empty());
    CHECK(build_corpus(world.options).unknown == 0);
}

TEST_CASE("an unknown token that the text itself has does not count", "[server]") {
    World world{"the <unk> server. The <unk> <unk> file.\n"};
    const LowerCaseModel model{world.folder.path() / "model"};
    world.options.held_out = 0;
    world.options.tokenizer = model.folder;
    const Corpus corpus = build_corpus(world.options);
    CHECK(corpus.unknown == 0);
    const auto documents = world.documents(corpus, false);
    std::size_t written = 0;
    for (const auto& sentence : documents.at(0)) {
        written += static_cast<std::size_t>(std::ranges::count(sentence, 1));
    }
    CHECK(written == 3);
}

TEST_CASE("a corpus of an older version has no rules", "[server]") {
    World world{some_text(3, 60)};
    const Corpus corpus = build_corpus(world.options);
    std::string json = world.file("corpus.json");
    const auto at = json.find("\n    \"unknown\":");
    REQUIRE(at != std::string::npos);
    json.erase(at, json.find('\n', at + 1) - at);
    platform::replace_file(world.options.folder / "corpus.json", json);
    const Corpus old = read_corpus(world.options.folder);
    CHECK_FALSE(old.rules);
    CHECK(old.unknown == 0);
    CHECK(old.shards == corpus.shards);
}

}  // namespace
}  // namespace dedloc::corpus
