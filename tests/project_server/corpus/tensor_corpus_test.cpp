// A corpus of tensors: every sample once, its tensors together; other input is one sentence.
#include "project_server/corpus/tensor_corpus.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <cstring>
#include <map>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "project_server/corpus/tensor_sources.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::corpus {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using formats::ElementType;

/// A .npy file as NumPy writes it.
std::string numpy_file(const std::string& type, const std::string& shape, const std::string& data,
                       const std::string& order = "False") {
    std::string head =
        fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}), }}", type, order, shape);
    head.resize((head.size() + 10 + 64) / 64 * 64 - 10, ' ');
    head.back() = '\n';
    std::string file{"\x93NUMPY\x01\x00", 8};
    file += static_cast<char>(head.size() % 256);
    file += static_cast<char>(head.size() / 256);
    return file + head + data;
}

template <class Value>
std::string numbers(std::size_t count) {
    std::string data;
    for (std::size_t i = 0; i < count; ++i) {
        const auto value = static_cast<Value>(i);
        data.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
    return data;
}

/// A safetensors file of 100 pictures, uint8 [3], and labels, int64; `b_labels` comes first.
std::string safetensors_file() {
    const std::string json =
        R"({"b_labels":{"dtype":"I64","shape":[100],"data_offsets":[0,800]},)"
        R"("a_pictures":{"dtype":"U8","shape":[100,3],"data_offsets":[800,1100]}})";
    std::string file = numbers<std::uint64_t>(1);
    const std::uint64_t length = json.size();
    std::memcpy(file.data(), &length, sizeof(length));
    std::string pictures;
    for (int i = 0; i < 100; ++i) pictures.append(3, static_cast<char>(i));
    return file + json + numbers<std::int64_t>(100) + pictures;
}

struct TensorWorld {
    TemporaryDirectory folder;
    TensorOptions options;
    TensorWorld() {
        options.folder = folder.path() / "corpus";
        options.held_out = 0.2;
        options.shard_bytes = 300;  // 27 samples of 11 bytes
    }
    fs::path write(const std::string& name, const std::string& bytes) const {
        platform::replace_file(folder.path() / name, bytes);
        return folder.path() / name;
    }
    std::string refusal(const std::string& name, const std::string& bytes) const {
        try {
            (void)open_tensors(write(name, bytes));
        } catch (const InputError& error) {
            return error.what();
        }
        return "accepted";
    }
};

TEST_CASE("a corpus of tensors has every sample once, with its tensors together", "[server]") {
    TensorWorld world;
    world.options.files = {world.write("all.safetensors", safetensors_file())};
    const TensorCorpus built = build_tensor_corpus(world.options);
    CHECK(built == read_tensor_corpus(world.options.folder));
    CHECK(built.inputs == std::vector<formats::SampleTensor>{{ElementType::kUint8, {3}},
                                                             {ElementType::kInt64, {}}});
    CHECK(built.samples == 100);
    CHECK(built.held_out > 8);
    CHECK(built.held_out < 35);
    std::map<std::int64_t, bool> seen;
    bool is_ascending = true;
    for (const auto& reference : built.shards) {
        const std::string file = platform::read_text(world.options.folder / reference.name);
        const auto bytes = bytes_of(file);
        CHECK(bytes.size() == reference.bytes);
        CHECK(blake2b(bytes) == reference.digest);
        const auto shard = formats::decode_tensor_shard({bytes.begin(), bytes.end()}).value();
        CHECK(shard.samples <= 27);
        std::int64_t before = -1;
        for (std::uint64_t i = 0; i < shard.samples; ++i) {
            std::int64_t label = 0;
            std::memcpy(&label, shard.row(1, i).data(), sizeof(label));
            CHECK(shard.row(0, i)[2] == static_cast<std::byte>(label));
            CHECK(seen.emplace(label, reference.is_held_out).second);
            is_ascending &= label > before;
            before = label;
        }
    }
    CHECK(seen.size() == 100);
    CHECK_FALSE(is_ascending);

    // The same bytes again, and the same held-out samples with shards of another size.
    world.options.folder = world.folder.path() / "again";
    CHECK(build_tensor_corpus(world.options) == built);
    world.options.folder = world.folder.path() / "larger";
    world.options.shard_bytes = 5'000;
    CHECK(build_tensor_corpus(world.options).held_out == built.held_out);
}

TEST_CASE("files of NumPy are read, one tensor each", "[server]") {
    TensorWorld world;
    const auto pictures =
        world.write("pictures.npy", numpy_file("|u1", "6, 2, 4", numbers<std::uint8_t>(48)));
    const auto values = world.write("values.npy", numpy_file("<f4", "6,", numbers<float>(6)));
    const auto opened = open_tensors(pictures);
    REQUIRE(opened.size() == 1);
    CHECK(opened[0].tensor == formats::SampleTensor{ElementType::kUint8, {2, 4}});
    CHECK(opened[0].samples == 6);
    CHECK(opened[0].bytes[47] == std::byte{47});
    world.options.files = {values, pictures};
    world.options.held_out = 0;
    const TensorCorpus built = build_tensor_corpus(world.options);
    CHECK(built.inputs.size() == 2);
    CHECK(built.inputs[0].type == ElementType::kFloat32);
    CHECK(built.held_out == 0);
}

TEST_CASE("files that are no tensors are refused in one sentence", "[server]") {
    const TensorWorld world;
    const std::string good = numpy_file("<f4", "6,", numbers<float>(6));
    CHECK(world.refusal("good.npy", good) == "accepted");
    for (std::size_t length = 0; length < good.size(); length += 3) {
        CHECK(world.refusal("cut.npy", good.substr(0, length)) != "accepted");
    }
    CHECK_THAT(world.refusal("a.npy", good + "x"), Contains("cut off, or longer"));
    CHECK_THAT(world.refusal("a.npy", numpy_file("<f8", "6,", numbers<double>(6))),
               Contains("convert them with astype"));
    CHECK_THAT(world.refusal("a.npy", numpy_file(">f4", "6,", numbers<float>(6))),
               Contains("convert them with astype"));
    CHECK_THAT(world.refusal("a.npy", numpy_file("<f4", "2, 3", numbers<float>(6), "True")),
               Contains("Fortran order"));
    CHECK_THAT(world.refusal("a.npy", numpy_file("<f4", "", numbers<float>(1))),
               Contains("without samples"));
    CHECK_THAT(world.refusal("a.npy", numpy_file("<f4", "0, 3", "")), Contains("without samples"));
    CHECK_THAT(world.refusal("a.npy", numpy_file("<f4", "6, 0", "")), Contains("no element"));
    CHECK_THAT(world.refusal("a.npy", numpy_file("<f4", "6, 99999999999999999999", "")),
               Contains("shape that cannot be used"));
    CHECK_THAT(world.refusal("a.npy", numpy_file("<f4", "4611686018427387904, 4", "")),
               Contains("cut off, or longer"));
    CHECK_THAT(world.refusal("a.safetensors", good), Contains("is not a safetensors file"));
    CHECK_THAT(world.refusal("a.bin", good), Contains("must be a .npy or .safetensors file"));
}

TEST_CASE("tensors that do not fit together leave no corpus", "[server]") {
    TensorWorld world;
    const auto six = world.write("six.npy", numpy_file("<f4", "6,", numbers<float>(6)));
    const auto five = world.write("five.npy", numpy_file("<f4", "5,", numbers<float>(5)));
    const auto refused = [&world](const std::vector<fs::path>& files) -> std::string {
        world.options.files = files;
        try {
            (void)build_tensor_corpus(world.options);
        } catch (const InputError& error) {
            CHECK_FALSE(fs::exists(world.options.folder));
            return error.what();
        }
        return "accepted";
    };
    CHECK(refused({six, five}) == "'five.npy' has 5 samples, but 'six.npy' has 6");
    world.options.shard_bytes = 3;
    CHECK(refused({six}) == "a sample has 4 bytes, more than a shard may have");
    world.options.shard_bytes = 300;
    world.options.held_out = 1;
    CHECK(refused({six}) == "all samples are held out");
}

}  // namespace
}  // namespace dedloc::corpus
