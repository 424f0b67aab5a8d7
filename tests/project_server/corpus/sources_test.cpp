// A corpus of several sources: each has shards, a held-out part and a weight of its own.
#include "project_server/corpus/sources.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "peer/base/error.hpp"
#include "peer/base/random.hpp"
#include "peer/formats/shard.hpp"
#include "peer/platform/files.hpp"
#include "project_server/corpus/build.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::corpus {
namespace {

namespace fs = std::filesystem;

/// Paragraphs of sentences whose words are numbers, so that two seeds have no document in common.
std::string numbered_text(std::uint64_t seed, std::size_t paragraphs) {
    Random random{seed};
    std::string text;
    for (std::size_t i = 0; i < paragraphs; ++i) {
        for (int sentence = 0; sentence < 4; ++sentence) {
            text += "The";
            for (int word = 0; word < 6; ++word) {
                text += " word" + std::to_string(random.below(100));
            }
            text += ". ";
        }
        text += "\n\n";
    }
    return text;
}

/// A folder with texts of two sources: a file, and a folder of two files.
struct SourceWorld {
    TemporaryDirectory folder;
    BuildOptions options;
    SourceWorld() {
        platform::replace_file(folder.path() / "wiki.txt", numbered_text(1, 60));
        fs::create_directory(folder.path() / "web");
        platform::replace_file(folder.path() / "web/b.txt", numbered_text(2, 150));
        platform::replace_file(folder.path() / "web/a.txt", numbered_text(3, 150));
        platform::replace_file(folder.path() / "web/notes.md", "not read");
        options.folder = folder.path() / "corpus";
        options.vocabulary = 100;
        options.shard_tokens = 2'000;
        options.held_out = 0.1;
    }
    std::string path(const char* name) const { return (folder.path() / name).string(); }
    std::string error_of(const std::vector<std::string>& sources) const {
        try {
            std::vector<SourceOption> parsed;
            for (const auto& text : sources) parsed.push_back(parse_source(text));
            check_sources(parsed);
        } catch (const InputError& error) {
            return error.what();
        }
        return "accepted";
    }
};

TEST_CASE("each source has shards, a held-out part and a weight of its own", "[server]") {
    SourceWorld world;
    world.options.sources = {parse_source("wiki=" + world.path("wiki.txt") + ":0.23"),
                             parse_source("web=" + world.path("web") + ":0.77")};
    REQUIRE(world.options.sources[1].texts.size() == 2);
    CHECK(world.options.sources[1].texts[0].filename() == "a.txt");
    set_licences({"wiki=CC BY-SA 4.0"}, world.options.sources);
    const Corpus corpus = build_corpus(world.options);
    CHECK(corpus == read_corpus(world.options.folder));
    CHECK(corpus.sources == std::vector<formats::SourceSpec>{{"wiki", 230'000, "CC BY-SA 4.0"},
                                                             {"web", 770'000, ""}});
    CHECK(std::ranges::is_sorted(corpus.shards, {}, &formats::ShardReference::name));
    std::map<std::pair<std::uint32_t, bool>, std::uint64_t> documents;
    for (const auto& shard : corpus.shards) {
        CHECK(shard.weight == 1);
        const auto decoded =
            formats::decode_shard(platform::read_file(world.options.folder / shard.name, 1 << 24));
        REQUIRE(decoded);
        documents[{shard.source, shard.is_held_out}] += decoded->document_count();
    }
    CHECK(documents[{0, false}] + documents[{0, true}] == 60);
    CHECK(documents[{1, false}] + documents[{1, true}] == 300);
    CHECK(documents[{0, true}] > 0);
    CHECK(documents[{1, true}] > 10);
    // The same texts without weights: in proportion to their sizes.
    for (auto& source : world.options.sources) source.weight.reset();
    world.options.folder = world.folder.path() / "plain";
    const Corpus plain = build_corpus(world.options);
    const double share = static_cast<double>(plain.sources[0].weight) / 1e6;
    CHECK(share == Approx(static_cast<double>(documents[{0, false}]) /
                          static_cast<double>(documents[{0, false}] + documents[{1, false}])));
}

TEST_CASE("a build of sources that was stopped goes on", "[server]") {
    SourceWorld world;
    world.options.sources = {parse_source("wiki=" + world.path("wiki.txt")),
                             parse_source("web=" + world.path("web"))};
    const Corpus whole = build_corpus(world.options);
    world.options.folder = world.folder.path() / "again";
    struct Stopped {};
    for (int stop = 0; stop < 6; ++stop) {
        int calls = 0;
        try {
            build_corpus(world.options, [&](const BuildProgress& progress) {
                const bool is_writing = progress.task == BuildProgress::Task::kWriting ||
                                        progress.task == BuildProgress::Task::kHoldingOut;
                if (is_writing && ++calls > stop) throw Stopped{};
            });
            break;
        } catch (const Stopped&) {
        }
    }
    if (!fs::exists(world.options.folder)) build_corpus(world.options);
    CHECK(read_corpus(world.options.folder) == whole);
}

TEST_CASE("sources that cannot be read as such are refused in one sentence", "[server]") {
    const SourceWorld world;
    const std::string wiki = "wiki=" + world.path("wiki.txt");
    const std::string web = "web=" + world.path("web");
    CHECK(world.error_of({wiki, web}) == "accepted");
    CHECK(world.error_of({wiki + ":1e-3", web + ":0"}) == "accepted");
    CHECK_THAT(world.error_of({"wiki"}), Catch::Contains("--source takes NAME=PATH"));
    CHECK_THAT(world.error_of({"a b=x"}), Catch::Contains("a source's name has 1 to 40 letters"));
    CHECK_THAT(world.error_of({"=x"}), Catch::Contains("a source's name"));
    CHECK_THAT(world.error_of({"wiki=" + world.path("none")}), Catch::Contains("there is no "));
    CHECK_THAT(world.error_of({wiki + ":-1", web + ":1"}), Catch::Contains("at least 0"));
    CHECK_THAT(world.error_of({wiki + ":inf", web + ":1"}), Catch::Contains("at least 0"));
    CHECK_THAT(world.error_of({wiki + ":x"}), Catch::Contains("there is no "));
    CHECK(world.error_of({wiki + ":1", web}) == "give each source its weight, or none");
    CHECK(world.error_of({wiki + ":0", web + ":0"}) == "one source has a weight above 0");
    CHECK(world.error_of({wiki, "wiki=" + world.path("web")}) == "two sources are called wiki");
    CHECK_THAT(world.error_of({wiki, "more=" + world.path("wiki.txt")}), Catch::Contains("twice"));
    fs::create_directory(world.folder.path() / "empty");
    CHECK_THAT(world.error_of({"e=" + world.path("empty")}), Catch::Contains("has no file *.txt"));
    std::vector<std::string> many;
    for (std::size_t i = 0; i <= formats::kMaxSources; ++i) {
        many.push_back("s" + std::to_string(i) + "=" + world.path("wiki.txt"));
    }
    CHECK(world.error_of(many) == "a corpus has at most 16 sources");
    std::vector<SourceOption> sources{parse_source(wiki)};
    for (const char* note : {"wiki", "other=x", "wiki=", "wiki=a\nb", "wiki=\xff"}) {
        CHECK_THROWS_AS(set_licences({note}, sources), InputError);
    }
    CHECK_THROWS_AS(set_licences({"wiki=a", "wiki=b"}, sources), InputError);
}

TEST_CASE("a source without a document of two sentences is named", "[server]") {
    SourceWorld world;
    platform::replace_file(world.folder.path() / "one.txt", "One word1.\n\nTwo word2.\n");
    world.options.sources = {parse_source("wiki=" + world.path("wiki.txt")),
                             parse_source("one=" + world.path("one.txt"))};
    CHECK_THROWS_WITH(build_corpus(world.options), "source one has no document of two sentences");
    CHECK_FALSE(fs::exists(world.options.folder));
}

}  // namespace
}  // namespace dedloc::corpus
