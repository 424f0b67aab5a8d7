// Building a corpus of pictures: whole, restartable after a kill at any shard, the same every time;
// files are refused one by one, and errors are one sentence.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/base/random.hpp"
#include "peer/formats/picture_labels.hpp"
#include "peer/formats/picture_shard.hpp"
#include "peer/platform/files.hpp"
#include "project_server/pictures/build_pictures.hpp"
#include "tests/boinc_app/pictures/made_jpeg.hpp"
#include "tests/file_size_limit.hpp"
#include "tests/project_server/pictures/made_png.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::pictures {
namespace {

namespace fs = std::filesystem;
using tests::made_jpeg;

/// A picture that differs for each seed.
Picture picture_of(std::uint64_t seed) {
    Picture picture = tests::smooth_picture(16, 12);
    Random random{seed};
    for (auto& value : picture.rgb) value = static_cast<std::uint8_t>(value + random.below(20));
    return picture;
}

/// A folder of pictures in three classes, and options to build a corpus of them.
struct Album {
    TemporaryDirectory folder;
    PictureBuildOptions options;
    Album() {
        options.images = folder.path() / "images";
        options.folder = folder.path() / "corpus";
        options.shard_bytes = 12'000;
        options.held_out = 0.2;
        fs::create_directory(options.images);
    }
    void add(const std::string& name, std::span<const std::byte> bytes) const {
        const fs::path path = options.images / name;
        fs::create_directories(path.parent_path());
        std::ofstream file{path, std::ios::binary};  // thousands of files need no syncing
        file.write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
    }
    void add_pictures(std::uint64_t count) const {
        for (std::uint64_t i = 0; i < count; ++i) {
            const char* const kClasses[] = {"cat", "dog", "owl"};
            add(fmt::format("{}/{:03}.jpg", kClasses[i % 3], i), made_jpeg(picture_of(i)));
        }
    }
    /// The files of the corpus and their contents.
    std::map<std::string, std::string> files() const {
        std::map<std::string, std::string> found;
        for (const auto& entry : fs::directory_iterator(options.folder)) {
            found[entry.path().filename().string()] = platform::read_text(entry.path());
        }
        return found;
    }
};

/// Pictures of a corpus by their bytes, with the names of their classes; checks digests and labels.
std::map<std::string, std::string> pictures_in(const Album& album, const corpus::Corpus& corpus,
                                               bool is_held_out) {
    std::map<std::string, std::string> found;
    for (const auto& reference : corpus.shards) {
        if (reference.is_held_out != is_held_out) continue;
        const auto bytes = platform::read_file(album.options.folder / reference.name, 1 << 26);
        CHECK(blake2b(bytes) == reference.digest);
        CHECK(bytes.size() == reference.bytes);
        const auto shard = formats::decode_picture_shard(bytes);
        REQUIRE(shard);
        const auto labels = formats::decode_picture_labels(
            platform::read_file(album.options.folder / corpus::labels_name(reference), 1 << 26));
        REQUIRE(labels);
        CHECK(labels->shard == reference.digest);
        CHECK(labels->classes == corpus.pictures->classes);
        REQUIRE(labels->labels.size() == shard->picture_count());
        for (std::size_t i = 0; i < shard->picture_count(); ++i) {
            const auto picture = shard->picture(i);
            const auto label = labels->labels[i];
            found[{reinterpret_cast<const char*>(picture.data()), picture.size()}] =
                label == formats::kNoClass ? "" : labels->classes.at(label);
        }
    }
    return found;
}

/// Runs a build in a child that is killed when it looks at the file with this number. Whether it
/// was killed.
bool build_until(const Album& album, std::uint64_t kill_at) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        std::uint64_t looked = 0;
        build_pictures(album.options, [&](const PictureBuildProgress&) {
            if (++looked == kill_at) _exit(9);
        });
        _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 9;
}

std::string error_of(const PictureBuildOptions& options) {
    try {
        build_pictures(options);
    } catch (const Error& error) {
        return error.what();
    }
    return "none";
}

TEST_CASE("a corpus has every picture once, in the class of its folder", "[pictures]") {
    Album album;
    album.add_pictures(90);
    album.add("no_class.jpg", made_jpeg(picture_of(1'000)));
    album.add("dog/deep/er.jpg", made_jpeg(picture_of(1'001)));
    album.add("cat/drawn.png", tests::made_png(picture_of(1'002), tests::PngForm::kRgb));
    album.add(".hidden.jpg", made_jpeg(picture_of(1'003)));
    album.add(".git/picture.jpg", made_jpeg(picture_of(1'004)));
    const auto corpus = build_pictures(album.options);
    CHECK(corpus::read_corpus(album.options.folder) == corpus);
    REQUIRE(corpus.pictures);
    const auto& facts = *corpus.pictures;
    CHECK(facts.pictures == 93);
    CHECK(facts.labelled == 92);
    CHECK(facts.smallest_side == 12);
    CHECK(facts.classes == std::vector<std::string>{"cat", "dog", "owl"});
    CHECK(facts.refused.empty());
    CHECK(facts.duplicates == 0);
    CHECK_FALSE(fs::exists(album.options.folder / corpus::kRefusedName));
    CHECK(corpus.shards.size() >= 4);

    auto trained = pictures_in(album, corpus, false);
    const auto held_out = pictures_in(album, corpus, true);
    CHECK(held_out.size() == facts.held_out);
    CHECK(facts.held_out > 5);
    CHECK(facts.held_out < 40);
    trained.insert(held_out.begin(), held_out.end());
    CHECK(trained.size() == 93);
    std::map<std::string, int> of_class;
    for (const auto& [picture, name] : trained) ++of_class[name];
    CHECK(of_class == std::map<std::string, int>{{"", 1}, {"cat", 31}, {"dog", 31}, {"owl", 30}});
    std::uint64_t bytes = 0;
    for (const auto& [picture, name] : trained) bytes += picture.size();
    CHECK(facts.bytes == bytes);
}

TEST_CASE("each shard has pictures of all classes", "[pictures]") {
    Album album;
    album.add_pictures(90);
    album.options.held_out = 0;
    const auto corpus = build_pictures(album.options);
    REQUIRE(corpus.shards.size() >= 3);
    for (const auto& reference : corpus.shards) {
        const auto labels = formats::decode_picture_labels(
            platform::read_file(album.options.folder / corpus::labels_name(reference), 1 << 20));
        REQUIRE(labels);
        if (labels->labels.size() < 10) continue;  // the last one
        CHECK(std::set<int>(labels->labels.begin(), labels->labels.end()).size() == 3);
    }
}

TEST_CASE("a folder without sub-folders makes a corpus without labels", "[pictures]") {
    Album album;
    for (std::uint64_t i = 0; i < 10; ++i) {
        album.add(fmt::format("{}.jpg", i), made_jpeg(picture_of(i)));
    }
    const auto corpus = build_pictures(album.options);
    CHECK(corpus.pictures->pictures == 10);
    CHECK(corpus.pictures->labelled == 0);
    for (const auto& [name, contents] : album.files()) CHECK_FALSE(name.starts_with("labels"));
}

TEST_CASE("the same picture counts once, whatever its metadata", "[pictures]") {
    Album album;
    album.add_pictures(12);
    album.add("owl/again.jpg", made_jpeg(picture_of(3)));
    album.add("owl/commented.jpg", made_jpeg(picture_of(4), {.comment = "by me"}));
    album.add("owl/upright.jpg", made_jpeg(picture_of(5), {.orientation = 1}));
    album.add("owl/turned.jpg", made_jpeg(picture_of(6), {.orientation = 3}));
    const auto corpus = build_pictures(album.options);
    CHECK(corpus.pictures->pictures == 13);
    CHECK(corpus.pictures->duplicates == 3);
}

TEST_CASE("broken and hostile files are refused one by one", "[pictures]") {
    Album album;
    album.add_pictures(12);
    const Buffer jpeg = made_jpeg(picture_of(50));
    album.add("cat/cut.jpg", std::span{jpeg}.first(jpeg.size() - 40));
    album.add("cat/page.jpg", bytes_of("<html>not found</html>"));
    album.add("cat/empty.jpg", {});
    album.add("dog/new\nline\x01\xff.jpg", bytes_of("hostile name"));
    album.add("readme.txt", bytes_of("thanks"));
    std::ofstream{album.options.images / "huge.jpg"};
    fs::resize_file(album.options.images / "huge.jpg", std::uintmax_t{1} << 33);
    fs::create_symlink("/nonexistent", album.options.images / "dangling.jpg");
    fs::create_directory_symlink(album.options.images, album.options.images / "cat/loop");
    album.options.max_pixels = 1'000;
    album.add("owl/large.jpg", made_jpeg(tests::smooth_picture(40, 40)));
    const auto corpus = build_pictures(album.options);
    CHECK(corpus.pictures->pictures == 12);
    const std::vector<corpus::RefusalCount> expected{
        {"not a picture", 4}, {"too many bytes", 1}, {"too many pixels", 1}, {"truncated", 1}};
    CHECK(corpus.pictures->refused == expected);
    CHECK(refusals_of(*corpus.pictures) ==
          "7 files refused (4 not a picture, 1 too many bytes, 1 too many pixels, 1 truncated)");
    const auto lines = platform::read_text(album.options.folder / corpus::kRefusedName);
    CHECK(std::ranges::count(lines, '\n') == 7);
    CHECK(lines.find("dog/new?line??.jpg\tit is neither a JPEG nor a PNG\n") != std::string::npos);
    CHECK(lines.find("owl/large.jpg\tit claims 40x40 pixels") != std::string::npos);
}

TEST_CASE("a file that is gone when it is read is refused", "[pictures]") {
    Album album;
    album.add_pictures(30);
    bool is_first = true;
    const auto corpus = build_pictures(album.options, [&](const PictureBuildProgress&) {
        if (!is_first) return;
        is_first = false;
        fs::remove_all(album.options.images / "dog");
    });
    REQUIRE(corpus.pictures->refused.size() == 1);
    CHECK(corpus.pictures->refused[0].reason == "unreadable");
    CHECK(corpus.pictures->refused[0].count + corpus.pictures->pictures == 30);
    CHECK(corpus.pictures->refused[0].count >= 9);
}

TEST_CASE("a build that is killed anywhere goes on to the same corpus", "[pictures]") {
    Album album;
    album.add_pictures(60);
    for (std::uint64_t i = 0; i < 60; i += 4) {
        album.add(fmt::format("owl/again{}.jpg", i), made_jpeg(picture_of(i)));
        album.add(fmt::format("cat/broken{}.jpg", i), bytes_of("broken"));
    }
    const auto whole = build_pictures(album.options);
    const auto files = album.files();
    CHECK(whole.pictures->duplicates == 15);
    for (std::uint64_t kill_at = 1; kill_at <= 90; kill_at += 4) {
        CAPTURE(kill_at);
        fs::remove_all(album.options.folder);
        REQUIRE(build_until(album, kill_at));
        CHECK_FALSE(fs::exists(album.options.folder));
        build_until(album, 7);  // and once more, soon after it has gone on
        if (!fs::exists(album.options.folder)) CHECK(build_pictures(album.options) == whole);
        CHECK(album.files() == files);
    }
}

TEST_CASE("a folder that has changed is built anew", "[pictures]") {
    Album album;
    album.add_pictures(60);
    REQUIRE(build_until(album, 50));
    album.add("cat/new.jpg", made_jpeg(picture_of(500)));
    CHECK(build_pictures(album.options).pictures->pictures == 61);
}

TEST_CASE("a full disk leaves a build that goes on", "[pictures]") {
    Album album;
    album.add_pictures(60);
    const auto whole = build_pictures(album.options);
    const auto files = album.files();
    fs::remove_all(album.options.folder);
    {
        const FileSizeLimit limit{8'000};
        CHECK(error_of(album.options).find("the same command goes on") != std::string::npos);
    }
    CHECK_FALSE(fs::exists(album.options.folder));
    CHECK(build_pictures(album.options) == whole);
    CHECK(album.files() == files);
}

TEST_CASE("what cannot be a corpus of pictures is said in one sentence", "[pictures]") {
    Album album;
    const auto says = [&](const std::string& part) {
        const auto error = error_of(album.options);
        INFO(error);
        CHECK(error.find(part) != std::string::npos);
        CHECK(std::distance(fs::directory_iterator(album.folder.path()),
                            fs::directory_iterator{}) == 1);
    };
    says("it has no file");
    album.add("cat/page.jpg", bytes_of("not a picture"));
    says("has no picture: 1 file refused (1 not a picture)");
    album.options.images = album.folder.path() / "absent";
    says("cannot list");
    album.options.images = album.folder.path() / "images";
    album.add("cat/one.jpg", made_jpeg(picture_of(1)));
    album.options.held_out = 1;
    says("all 1 pictures are held out");
    album.options.held_out = 0;
    album.add("bad\xff/one.jpg", made_jpeg(picture_of(2)));
    says("cannot be a class");
}

TEST_CASE("the description of a corpus of text is what it was before there were pictures",
          "[pictures]") {
    const TemporaryDirectory folder;
    corpus::Corpus text;
    text.vocabulary = 120;
    text.special_tokens = {.pad = 0, .unknown = 1, .cls = 2, .sep = 3, .mask = 4};
    text.documents = 7;
    text.single = 1;
    text.sentences = 20;
    text.tokens = 300;
    text.unknown = 2;
    text.held_out = 3;
    text.shards = {{.name = "shard-1", .digest = blake2b(bytes_of("1")), .bytes = 800}};
    corpus::write_corpus(folder.path(), text);
    CHECK(platform::read_text(folder.path() / "corpus.json") ==
          fmt::format(R"({{
    "vocabulary": 120,
    "special_tokens": {{
        "pad": 0,
        "unknown": 1,
        "cls": 2,
        "sep": 3,
        "mask": 4
    }},
    "documents": 7,
    "single": 1,
    "sentences": 20,
    "tokens": 300,
    "unknown": 2,
    "held_out": 3,
    "shards": [
        {{
            "name": "shard-1",
            "digest": "{}",
            "bytes": 800
        }}
    ]
}}
)",
                      text.shards[0].digest.hex()));
    CHECK(corpus::read_corpus(folder.path()) == text);
}

TEST_CASE("a damaged description of a corpus of pictures names the field", "[pictures]") {
    Album album;
    album.add_pictures(12);
    build_pictures(album.options);
    const fs::path file = album.options.folder / "corpus.json";
    const std::string sound = platform::read_text(file);
    const auto says = [&](const std::string& old, const std::string& replacement,
                          const std::string& part) {
        std::string damaged = sound;
        REQUIRE(damaged.find(old) != std::string::npos);
        platform::replace_file(file, damaged.replace(damaged.find(old), old.size(), replacement));
        CHECK_THROWS_WITH(corpus::read_corpus(album.options.folder), Catch::Contains(part));
    };
    says(R"("holds": "pictures")", R"("holds": "films")", "'holds' is not \"pictures\"");
    says(R"("pictures": 12)", R"("pictures": -1)", "'pictures' must be a whole number");
    says(R"("cat")", R"("c\u0001t")", "'classes' has a name that no class may have");
    says(R"("cat")", "3", "'classes' has a name that is no text");
    says(R"("refused": [])", R"("refused": [{"reason": "?", "count": 0}])", "count");
    says(R"("smallest_side": 12,)", "", "'smallest_side' is missing");
}

/// Peak of the memory of this process, in bytes, while it builds.
std::uint64_t peak_of_building(const Album& album) {
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        std::ofstream{"/proc/self/clear_refs"} << 5;
        build_pictures(album.options);
        std::ifstream status{"/proc/self/status"};
        std::uint64_t kilobytes = 0;
        for (std::string word; status >> word;) {
            if (word == "VmHWM:") status >> kilobytes;
        }
        if (write(ends[1], &kilobytes, sizeof kilobytes) < 0) _exit(1);
        _exit(0);
    }
    std::uint64_t kilobytes = 0;
    REQUIRE(read(ends[0], &kilobytes, sizeof kilobytes) == sizeof kilobytes);
    close(ends[0]);
    close(ends[1]);
    REQUIRE(waitpid(child, nullptr, 0) == child);
    return kilobytes * 1024;
}

TEST_CASE("memory does not grow with the number of pictures", "[pictures][.slow]") {
    Album few;
    Album many;
    few.options.shard_bytes = many.options.shard_bytes = 1'000'000;
    few.add_pictures(3'000);
    many.add_pictures(10'000);
    const auto peak = peak_of_building(few);
    CHECK(peak_of_building(many) < peak + (4u << 20));
}

}  // namespace
}  // namespace dedloc::pictures
