// A job's shards: mapped and checked; a wrong file is one sentence.
#include "boinc_app/inputs/shard_files.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "tests/boinc_app/tiny_world.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::inputs {
namespace {

namespace fs = std::filesystem;

/// A run with two shards, which are files in a folder; the second one is held out.
struct World {
    TemporaryDirectory folder;
    formats::RunFile run = test::tiny_run();
    std::vector<fs::path> paths;

    World() {
        for (std::uint64_t seed = 1; seed <= 2; ++seed) add(test::skewed_shard(run, seed));
        run.shards[1].is_held_out = true;
    }
    void add(const formats::Shard& shard) {
        const std::string name = "shard-" + std::to_string(paths.size());
        paths.push_back(folder.path() / name);
        platform::replace_file(paths.back(), shard.file);
        run.shards.push_back(
            {.name = name, .digest = blake2b(shard.file), .bytes = shard.file.size()});
    }
    void refuses(const fs::path& path, const std::string& why) const {
        CHECK_THROWS_WITH(open_shards({&path, 1}, run),
                          Catch::Contains(path.string()) && Catch::Contains(why));
    }
};

TEST_CASE("a shard of the run is used in place, with its weight", "[boinc]") {
    World world;
    world.run.shards[0].weight = 7;
    const auto shard = open_shards({&world.paths[0], 1}, world.run).front();
    CHECK(std::ranges::equal(shard.file, test::skewed_shard(world.run, 1).file));
    CHECK(shard.weight == 7);
    CHECK(reinterpret_cast<std::uintptr_t>(shard.file.data()) % 4'096 == 0);
    fs::remove(world.paths[0]);  // the mapping keeps the file
    CHECK(shard.sentence(0).size() >= 3);
}

TEST_CASE("a file that is no shard of the run is refused in one sentence", "[boinc]") {
    World world;
    const auto& path = world.paths[0];
    world.refuses(world.folder.path() / "none", "No such file or directory");
    world.refuses(world.folder.path(), "Is a directory");
    world.refuses(world.paths[1], "is not a shard of run tiny: it is held out");
    const Buffer whole = platform::read_file(path, 1 << 20);
    platform::replace_file(path, std::span{whole}.first(whole.size() - 2));
    world.refuses(path, "is not a shard of run tiny: none has its size, so it is cut off");
    platform::replace_file(path, "");
    world.refuses(path, "none has its size");
    Buffer altered = whole;
    altered[40] ^= std::byte{1};
    platform::replace_file(path, altered);
    world.refuses(path, "is not a shard of run tiny: none has its digest");
    CHECK_THROWS_WITH(open_shards({}, world.run), "there is no shard to train on");
}

TEST_CASE("held-out shards are found by their names, in the order of the run file", "[boinc]") {
    World world;
    world.add(test::skewed_shard(world.run, 3));
    world.run.shards[2].is_held_out = true;
    world.run.shards[2].weight = 4;
    std::swap(world.run.shards[1], world.run.shards[2]);
    const auto shards = open_held_out_shards(world.folder.path(), world.run);
    REQUIRE(shards.size() == 2);
    CHECK(std::ranges::equal(shards[0].file, test::skewed_shard(world.run, 3).file));
    CHECK(shards[0].weight == 4);
    CHECK(std::ranges::equal(shards[1].file, test::skewed_shard(world.run, 2).file));
    const auto refuses = [&](const std::string& why) {
        CHECK_THROWS_WITH(open_held_out_shards(world.folder.path(), world.run),
                          Catch::Contains(why));
    };
    fs::rename(world.paths[2], world.folder.path() / "away");
    refuses("No such file or directory");
    fs::copy_file(world.paths[0], world.paths[2]);
    refuses("shard-2 is not the held-out shard of run tiny");
    fs::remove(world.paths[2]);
    fs::rename(world.folder.path() / "away", world.paths[2]);
    Buffer altered = platform::read_file(world.paths[1], 1 << 20);
    altered[40] ^= std::byte{1};
    platform::replace_file(world.paths[1], altered);
    refuses("shard-1 is not the held-out shard of run tiny: it is altered");
    altered.pop_back();
    platform::replace_file(world.paths[1], altered);
    refuses("shard-1 is not the held-out shard of run tiny: it is cut off");
    for (auto& shard : world.run.shards) shard.is_held_out = false;
    refuses("run tiny has no held-out shard");
}

TEST_CASE("a listed shard that the run cannot use is refused in one sentence", "[boinc]") {
    World world;
    formats::ShardBuilder other{61};
    other.add_sentence(std::vector<std::uint16_t>{5, 6});
    world.add(std::move(other).finish());
    world.refuses(world.paths[2], "has a vocabulary of 61; the run's is 60");
    // Its digest is in the run file, but it is damaged: the project's mistake.
    Buffer bad = platform::read_file(world.paths[0], 1 << 20);
    bad.back() = std::byte{0xFF};
    platform::replace_file(world.paths[0], bad);
    world.run.shards[0].digest = blake2b(bad);
    world.refuses(world.paths[0], "cannot be used: a token id is not below its vocabulary");
}

}  // namespace
}  // namespace dedloc::inputs
